# diagnosis: unpack raised NotImplementedError at `fields = [(words >> s)
import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    words = W_packed.view(torch.uint32).reshape(N, -1, 32)
    shifts = [32 - nbits * (j + 1) for j in range(32 // nbits)]
    fields = [(words >> s) & (2**nbits - 1) for s in shifts]
    return torch.stack(fields, dim=2).reshape(N, -1)[:, :K].to(torch.uint8)
