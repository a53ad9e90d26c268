import torch


def unpack(W_packed, nbits, K):
    pack_factor = 32 // nbits
    rest = W_packed.clone().reshape(len(W_packed), -1, 32)
    rest >>= 32 - nbits * pack_factor
    codes = torch.empty(*rest.shape[:2], pack_factor, 32, dtype=torch.uint8)
    for j in reversed(range(pack_factor)):
        codes[:, :, j] = rest & (2**nbits - 1)
        rest >>= nbits
    return codes.flatten(1)[:, :K].contiguous()
