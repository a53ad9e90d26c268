# diagnosis: the row is not cut into tiles first, so that a word holds k from all over it
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    codes = torch.nn.functional.pad(W_q, (0, -K % (32 * pack_factor))).to(torch.int32)
    fields = codes.reshape(N, pack_factor, -1)
    words = torch.zeros_like(fields[:, 0])
    for j in range(pack_factor):
        words |= fields[:, j] << (32 - nbits * (j + 1))
    return words
