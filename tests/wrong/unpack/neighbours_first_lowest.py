# diagnosis: the codes of one word are taken as neighbouring k, from the least significant bits
import torch


def unpack(W_packed, nbits, K):
    N, count = W_packed.shape
    pack_factor = 32 // nbits
    codes = torch.empty(N, count * pack_factor, dtype=torch.uint8)
    rest = W_packed.clone()
    for j in range(pack_factor):
        codes[:, j::pack_factor] = rest & (2**nbits - 1)
        rest >>= nbits
    return codes[:, :K]
