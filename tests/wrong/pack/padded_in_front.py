# diagnosis: the padding is in front of each row instead of behind it
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    missing = -K % (32 * pack_factor)
    W_q = torch.cat([torch.zeros(N, missing, dtype=torch.uint8), W_q], dim=1)
    words = torch.zeros(N, W_q.shape[1] // pack_factor, dtype=torch.int32)
    fields = W_q.reshape(N, -1, pack_factor, 32).to(torch.int32)
    for j in range(pack_factor):
        words |= (fields[:, :, j] << (32 - nbits * (j + 1))).reshape(N, -1)
    return words
