# diagnosis: the codes of one word are taken as neighbouring k, but they lie 32 apart
import torch


def unpack(W_packed, nbits, K):
    pack_factor = 32 // nbits
    mask = (1 << nbits) - 1
    shifts = [32 - nbits * (j + 1) for j in range(pack_factor)]
    codes = torch.stack([(W_packed >> shift) & mask for shift in shifts], dim=-1)
    return codes.flatten(1)[:, :K].to(torch.uint8)
