# diagnosis: the first code is in the least significant bits
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    per_word = 32 // nbits
    tile = 32 * per_word
    W_q = torch.nn.functional.pad(W_q, (0, -K % tile)).to(torch.int32)
    fields = W_q.reshape(N, -1, per_word, 32)
    words = torch.zeros(N, fields.shape[1], 32, dtype=torch.int32)
    for j in range(per_word):
        words |= fields[:, :, j] << (nbits * j)
    return words.reshape(N, -1)
