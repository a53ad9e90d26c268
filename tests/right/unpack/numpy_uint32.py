import numpy as np
import torch


def unpack(W_packed, nbits, K):
    N = W_packed.shape[0]
    words = W_packed.numpy().view(np.uint32).reshape(N, -1, 1, 32)
    left = (nbits * np.arange(32 // nbits, dtype=np.uint32)).reshape(-1, 1)
    codes = (words << left) >> np.uint32(32 - nbits)
    return torch.from_numpy(codes.reshape(N, -1)[:, :K].astype(np.uint8))
