# diagnosis: every field is read as the first one
import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    words = W_packed.reshape(N, -1, 1, 32)
    codes = (words >> (32 - nbits)) & (2**nbits - 1)
    codes = codes.expand(-1, -1, 32 // nbits, -1)
    return codes.reshape(N, -1)[:, :K].to(torch.uint8)
