# diagnosis: the last code of each word is not read
import torch


def unpack(W_packed, nbits, K):
    N, pack_factor = len(W_packed), 32 // nbits
    words = W_packed.reshape(N, -1, 32)
    codes = torch.zeros(N, words.shape[1], pack_factor, 32, dtype=torch.uint8)
    for j in range(pack_factor - 1):
        codes[:, :, j] = (words >> (32 - nbits * (j + 1))) & (2**nbits - 1)
    return codes.reshape(N, -1)[:, :K]
