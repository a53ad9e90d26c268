# diagnosis: the fields are read from the least significant bits
import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    words = W_packed.reshape(N, -1, 1, 32)
    shifts = torch.arange(32 // nbits).view(-1, 1) * nbits
    codes = (words >> shifts) & (2**nbits - 1)
    return codes.reshape(N, -1)[:, :K].to(torch.uint8)
