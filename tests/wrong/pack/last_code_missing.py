# diagnosis: the last code of each word is missing
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    fields = torch.nn.functional.pad(W_q, (0, -K % (32 * pack_factor)))
    fields = fields.reshape(N, -1, pack_factor, 32).to(torch.int32)
    words = torch.zeros(N, fields.shape[1], 32, dtype=torch.int32)
    for j in range(1, pack_factor):
        words |= fields[:, :, j - 1] << (32 - nbits * j)
    return words.reshape(N, -1)
