# diagnosis: every row is read from row 0
import torch


def unpack(W_packed, nbits, K):
    pack_factor = 32 // nbits
    flat = W_packed.flatten()
    codes = torch.zeros(len(W_packed), K, dtype=torch.uint8)
    for n in range(len(W_packed)):
        for k in range(K):
            tile = k // (32 * pack_factor)
            j = k % (32 * pack_factor) // 32
            word = int(flat[32 * tile + k % 32])
            codes[n, k] = word >> (32 - nbits * (j + 1)) & (2**nbits - 1)
    return codes
