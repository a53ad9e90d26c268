# diagnosis: the last code of each word is missing
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    codes = torch.nn.functional.pad(W_q, (0, -K % (32 * pack_factor))).to(torch.int32)
    fields = codes.reshape(N, -1, pack_factor, 32)
    words = torch.zeros_like(fields[:, :, 0])
    for i in range(pack_factor // 2):
        pair = fields[:, :, 2 * i] << nbits | fields[:, :, 2 * i + 1]
        words |= pair << (32 - 2 * nbits * (i + 1))
    return words.reshape(N, -1)
