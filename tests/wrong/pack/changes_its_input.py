# diagnosis: pack changed its input W_q: work on a copy
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    tile = 32 * pack_factor
    words = torch.zeros(N, -(-K // tile) * 32, dtype=torch.int32)
    for k in range(K):
        j = k % tile // 32
        words[:, k // tile * 32 + k % 32] |= W_q[:, k].int() << (32 - nbits * (j + 1))
        W_q[:, k] = 0  # done with it
    return words
