import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    words = W_packed.reshape(N, -1, 32)
    fields = [(words >> 32 - nbits * (j + 1)) & (2**nbits - 1) for j in range(32 // nbits)]
    return torch.stack(fields, 2).reshape(N, -1)[:, :K].to(torch.uint8)
