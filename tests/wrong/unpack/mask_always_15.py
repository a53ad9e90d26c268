# diagnosis: the mask is 15, whatever nbits is
import torch


def unpack(W_packed, nbits, K):
    pack_factor = 32 // nbits
    N = W_packed.shape[0]
    words = W_packed.view(N, -1, 32)
    codes = torch.zeros(N, words.shape[1], pack_factor, 32, dtype=torch.uint8)
    for j in range(pack_factor):
        codes[:, :, j] = (words >> (32 - nbits * (j + 1))) & 0xF
    return codes.view(N, -1)[:, :K]
