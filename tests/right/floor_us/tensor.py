import torch


def floor_us(N, K, nbits, group_size, read_gb_per_s):
    nbytes = torch.tensor([N * K * nbits / 8, 2 * N * K / group_size, 2 * N * K / group_size])
    return nbytes.double().sum() / (read_gb_per_s * 1e3)
