# diagnosis: It is none of the mistakes known here
import torch


def unpack(W_packed, nbits, K):
    codes = torch.zeros(len(W_packed), K, dtype=torch.uint8)
    # to do: fill codes
    return codes
