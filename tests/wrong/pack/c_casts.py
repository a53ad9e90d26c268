# diagnosis: pack raised NameError at `word = static_cast < int > (0)
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    words = torch.zeros(N, -(-K // (32 * pack_factor)) * 32, dtype=torch.int32)
    word = static_cast < int > (0)  # noqa: F821
    for j in range(pack_factor):
        word |= W_q[0, 32 * j] << (32 - nbits * (j + 1))
    words[0, 0] = word
    return words
