# diagnosis: W_packed has shape (3, 125), expected (3, 128)
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    codes = torch.nn.functional.pad(W_q, (0, -K % pack_factor)).to(torch.int32)
    groups = codes.reshape(N, -1, pack_factor)
    words = torch.zeros_like(groups[:, :, 0])
    for j in range(pack_factor):
        words |= groups[:, :, j] << (32 - nbits * (j + 1))
    return words
