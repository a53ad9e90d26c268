# diagnosis: the idle bits are at the top of the word instead of the bottom
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    padded = torch.nn.functional.pad(W_q, (0, -K % (32 * pack_factor)))
    fields = padded.reshape(N, -1, pack_factor, 32).int()
    words = torch.zeros_like(fields[:, :, 0])
    for j in range(pack_factor):
        # make room for the next code, then put it in
        words = (words << nbits) | fields[:, :, j]
    return words.reshape(N, -1)
