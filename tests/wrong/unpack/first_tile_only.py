# diagnosis: only the first tile of each row is read
import torch


def unpack(W_packed, nbits, K):
    N, pack_factor = len(W_packed), 32 // nbits
    codes = torch.zeros(N, K, dtype=torch.uint8)
    for j in range(pack_factor):
        field = (W_packed[:, :32] >> (32 - nbits * (j + 1))) & (2**nbits - 1)
        width = min(32, max(0, K - 32 * j))
        codes[:, 32 * j : 32 * j + width] = field[:, :width]
    return codes
