import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    codes = torch.nn.functional.pad(W_q, (0, -K % (32 * pack_factor))).to(torch.int32)
    fields = codes.reshape(N, -1, pack_factor, 32)
    words = torch.zeros_like(fields[:, :, 0])
    for j in range(pack_factor):
        words |= fields[:, :, j] << (32 - nbits * (j + 1))
    return words.reshape(N, -1)
