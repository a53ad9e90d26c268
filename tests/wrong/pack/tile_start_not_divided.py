# diagnosis: pack raised RuntimeError at `words[:, start : start + 32]
import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    pack_factor = 32 // nbits
    tile = 32 * pack_factor
    codes = torch.nn.functional.pad(W_q, (0, -K % tile)).to(torch.int32)
    words = torch.zeros(N, codes.shape[1] // pack_factor, dtype=torch.int32)
    for start in range(0, codes.shape[1], tile):
        for j in range(pack_factor):
            field = codes[:, start + 32 * j : start + 32 * (j + 1)]
            words[:, start : start + 32] |= field << (32 - nbits * (j + 1))
    return words
