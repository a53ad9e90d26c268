# diagnosis: unpack raised RuntimeError at `codes[:, k : k + 32]
import torch


def unpack(W_packed, nbits, K):
    N, pack_factor = len(W_packed), 32 // nbits
    mask = 2**nbits - 1
    codes = torch.zeros(N, W_packed.shape[1] * pack_factor, dtype=torch.uint8)
    for start in range(0, codes.shape[1], 32 * pack_factor):
        words = W_packed[:, start : start + 32]
        for j in range(pack_factor):
            k = start + 32 * j
            codes[:, k : k + 32] = words >> (32 - nbits * (j + 1)) & mask
    return codes[:, :K]
