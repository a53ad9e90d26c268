# diagnosis: the row is not cut into tiles first: the codes of a word are spread all over it
import torch


def unpack(W_packed, nbits, K):
    mask = 2**nbits - 1
    parts = []
    for j in range(32 // nbits):
        parts.append((W_packed >> (32 - nbits * (j + 1))) & mask)
    return torch.cat(parts, dim=1)[:, :K].to(torch.uint8)
