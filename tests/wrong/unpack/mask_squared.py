# diagnosis: the mask is nbits**2 - 1; it is 2**nbits - 1
import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    words = W_packed.reshape(N, -1, 1, 32)
    shifts = 32 - nbits * (torch.arange(32 // nbits) + 1)
    codes = (words >> shifts.view(-1, 1)) & (nbits**2 - 1)
    return codes.reshape(N, -1)[:, :K].to(torch.uint8)
