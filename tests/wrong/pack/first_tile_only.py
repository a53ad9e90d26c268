# diagnosis: only the first tile of each row is packed
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    tiles = -(-K // (32 * pack_factor))
    words = torch.zeros(N, tiles * 32, dtype=torch.int32)
    codes = torch.zeros(N, tiles * 32 * pack_factor, dtype=torch.int32)
    codes[:, :K] = W_q
    for lane in range(32):
        for j in range(pack_factor):
            words[:, lane] |= codes[:, lane + 32 * j] << (32 - nbits * (j + 1))
    return words
