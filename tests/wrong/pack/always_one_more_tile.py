# diagnosis: W_packed has shape (2, 64), expected (2, 32)
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    tile = 32 * pack_factor
    codes = torch.zeros(N, (K // tile + 1) * tile, dtype=torch.int32)
    codes[:, :K] = W_q
    fields = codes.reshape(N, -1, pack_factor, 32)
    words = torch.zeros_like(fields[:, :, 0])
    for j in range(pack_factor):
        words |= fields[:, :, j] << (32 - nbits * (j + 1))
    return words.reshape(N, -1)
