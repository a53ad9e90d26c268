# diagnosis: the codes are shifted while still uint8, so that bits above the eighth are lost
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    padded = torch.nn.functional.pad(W_q, (0, -K % (32 * pack_factor)))
    fields = padded.reshape(N, -1, pack_factor, 32)
    words = torch.zeros(N, fields.shape[1], 32, dtype=torch.int32)
    for j in range(pack_factor):
        words |= (fields[:, :, j] << (32 - nbits * (j + 1))).to(torch.int32)
    return words.reshape(N, -1)
