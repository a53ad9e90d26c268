# diagnosis: the idle bits are taken to be at the top of the word
import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    pack_factor = 32 // nbits
    words = W_packed.reshape(N, -1, 32)
    codes = [(words >> (nbits * j)) & (2**nbits - 1) for j in range(pack_factor)]
    codes.reverse()
    return torch.stack(codes, dim=2).reshape(N, -1)[:, :K].to(torch.uint8)
