import torch


def unpack(W_packed, nbits, K):
    k = torch.arange(K)
    tile = 32 * (32 // nbits)
    words = W_packed[:, k // tile * 32 + k % 32]
    shifts = 32 - nbits * (k % tile // 32 + 1)
    return ((words >> shifts) & ((1 << nbits) - 1)).to(torch.uint8)
