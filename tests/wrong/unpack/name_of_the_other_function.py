# diagnosis: unpack raised NameError at `N = len(W_q)
import torch


def unpack(W_packed, nbits, K):
    N = len(W_q)  # noqa: F821
    words = W_packed.reshape(N, -1, 32)
    fields = [(words >> 32 - nbits * (j + 1)) & (2**nbits - 1) for j in range(32 // nbits)]
    return torch.stack(fields, dim=2).reshape(N, -1)[:, :K].to(torch.uint8)
