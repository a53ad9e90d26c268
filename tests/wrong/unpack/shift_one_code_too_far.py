# diagnosis: the shift is 32 - nbits * j, one code too far: code j needs j + 1
import torch


def unpack(W_packed, nbits, K):
    N, pack_factor = len(W_packed), 32 // nbits
    codes = torch.zeros(N, W_packed.shape[1] * pack_factor, dtype=torch.uint8)
    for k in range(codes.shape[1]):
        tile, within = divmod(k, 32 * pack_factor)
        j, lane = divmod(within, 32)
        codes[:, k] = (W_packed[:, 32 * tile + lane] >> (32 - nbits * j)) & (2**nbits - 1)
    return codes[:, :K]
