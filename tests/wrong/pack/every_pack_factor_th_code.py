# diagnosis: a word holds neighbouring k instead of k that lie 32 apart
import torch.nn.functional as F


def pack(W_q, nbits):
    n = 32 // nbits
    W = F.pad(W_q, (0, -W_q.shape[1] % (32 * n))).int()
    words = 0
    for j in range(n):
        words = words | W[:, j::n] << 32 - nbits * (j + 1)
    return words
