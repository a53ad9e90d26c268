# diagnosis: W_packed has shape (2, 160), expected (2, 96)
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    fields = torch.nn.functional.pad(W_q, (0, -K % 256)).to(torch.int32).reshape(N, -1, 8, 32)
    words = torch.zeros_like(fields[:, :, 0])
    for j in range(8):
        words |= fields[:, :, j] << (28 - 4 * j)
    return words.reshape(N, -1)
