# diagnosis: the codes are masked with nbits**2 - 1; it is 2**nbits - 1
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    factor = 32 // nbits
    codes = torch.nn.functional.pad(W_q, (0, -K % (32 * factor))).int() & (nbits**2 - 1)
    fields = codes.reshape(N, -1, factor, 32)
    words = torch.zeros_like(fields[:, :, 0])
    for j in range(factor):
        words |= fields[:, :, j] << (32 - nbits * (j + 1))
    return words.reshape(N, -1)
