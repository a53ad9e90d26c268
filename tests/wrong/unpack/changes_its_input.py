# diagnosis: unpack changed its input W_packed: work on a copy
import torch


def unpack(W_packed, nbits, K):
    N, pack_factor = len(W_packed), 32 // nbits
    words = W_packed.reshape(N, -1, 32)
    words >>= 32 - nbits * pack_factor
    fields = []
    for _ in range(pack_factor):
        fields.insert(0, words & (2**nbits - 1))
        words >>= nbits
    return torch.stack(fields, dim=2).reshape(N, -1)[:, :K].to(torch.uint8)
