import functools

import torch


@functools.cache
def shifts(nbits):
    return [32 - nbits * (j + 1) for j in range(32 // nbits)]


def unpack(W_packed, nbits, K):
    words = W_packed.reshape(len(W_packed), -1, 32)
    fields = torch.stack([words >> shift for shift in shifts(nbits)], 2) & (2**nbits - 1)
    return fields.reshape(len(W_packed), -1)[:, :K].to(torch.uint8)
