# diagnosis: pack raised RuntimeError at `return torch.tensor(packed, dtype=torch.int32)`
import torch


def pack(W_q, nbits):
    pack_factor = 32 // nbits
    tile = 32 * pack_factor
    packed = []
    for row in W_q.tolist():
        row = row + [0] * (-len(row) % tile)
        words = [0] * (len(row) // pack_factor)
        for k, code in enumerate(row):
            j = k % tile // 32
            words[k // tile * 32 + k % 32] |= code << (32 - nbits * (j + 1))
        packed.append(words)
    return torch.tensor(packed, dtype=torch.int32)
