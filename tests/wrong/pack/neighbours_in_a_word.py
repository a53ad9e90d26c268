# diagnosis: a word holds neighbouring k instead of k that lie 32 apart
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    padded = torch.nn.functional.pad(W_q, (0, -K % (32 * pack_factor))).to(torch.int32)
    groups = padded.reshape(N, -1, pack_factor)
    words = torch.zeros(N, groups.shape[1], dtype=torch.int32)
    for j in range(pack_factor):
        words |= groups[:, :, j] << (32 - nbits * (j + 1))
    return words
