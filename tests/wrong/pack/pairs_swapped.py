# diagnosis: the two codes of each pair of fields are swapped
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    W_q = torch.nn.functional.pad(W_q.int(), (0, -K % (32 * pack_factor)))
    fields = W_q.reshape(N, -1, pack_factor, 32)
    low, high = fields[:, :, 0::2], fields[:, :, 1::2]
    pairs = high << nbits | low
    words = torch.zeros(N, fields.shape[1], 32, dtype=torch.int32)
    for i in range(pack_factor // 2):
        words |= pairs[:, :, i] << (32 - 2 * nbits * (i + 1))
    return words.flatten(1)
