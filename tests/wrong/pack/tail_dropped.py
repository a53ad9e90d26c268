# diagnosis: the ragged tail of K after the last whole tile is missing
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    tile = 32 * pack_factor
    words = torch.zeros(N, -(-K // tile) * 32, dtype=torch.int32)
    for t in range(K // tile):
        codes = W_q[:, t * tile : (t + 1) * tile].to(torch.int32)
        for j in range(pack_factor):
            field = codes[:, 32 * j : 32 * (j + 1)]
            words[:, 32 * t : 32 * (t + 1)] |= field << (32 - nbits * (j + 1))
    return words
