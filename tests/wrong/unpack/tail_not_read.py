# diagnosis: the ragged tail of K after the last whole tile is not read
import torch


def unpack(W_packed, nbits, K):
    N, pack_factor = len(W_packed), 32 // nbits
    tile = 32 * pack_factor
    codes = torch.zeros(N, K, dtype=torch.uint8)
    for t in range(K // tile):
        for j in range(pack_factor):
            words = W_packed[:, 32 * t : 32 * t + 32]
            start = t * tile + 32 * j
            codes[:, start : start + 32] = words >> (32 - nbits * (j + 1)) & (2**nbits - 1)
    return codes
