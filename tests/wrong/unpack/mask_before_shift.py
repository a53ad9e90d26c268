# diagnosis: the mask is applied before the shift, where it keeps the lowest field alone
import torch


def unpack(W_packed, nbits, K):
    N = len(W_packed)
    mask = 2**nbits - 1
    words = W_packed.reshape(N, -1, 1, 32)
    shifts = torch.tensor([32 - nbits * (j + 1) for j in range(32 // nbits)]).view(-1, 1)
    codes = (words & mask) >> shifts
    return codes.reshape(N, -1)[:, :K].to(torch.uint8)
