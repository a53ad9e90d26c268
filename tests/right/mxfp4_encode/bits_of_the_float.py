import numpy as np
import torch


def mxfp4_encode(w):
    values = w.float().contiguous().numpy().reshape(len(w), -1, 32)
    _, powers = np.frexp(np.abs(values).max(axis=2))
    powers = np.where(values.any(axis=2), np.maximum(powers - 3, -127), -127)
    quarters = np.abs(np.ldexp(values.astype(np.float64), 2 - powers[:, :, None]))
    whole = np.floor(quarters).astype(np.int64)
    whole = 2 * whole + (whole != quarters)  # eighths, the last bit says that something is left
    codes = np.zeros_like(whole)
    for low, shift, first in ((0, 2, 0), (16, 3, 2), (32, 4, 4)):
        kept, rest, half = whole >> shift, whole & ((1 << shift) - 1), 1 << (shift - 1)
        up = (rest > half) | ((rest == half) & (kept % 2 == 1))
        codes = np.where(whole >= low, kept + up + first, codes)
    codes = np.minimum(codes, 7)
    codes += 8 * ((values < 0) & (codes > 0))
    return (
        torch.from_numpy(powers.astype(np.int8)),
        torch.from_numpy(codes.reshape(w.shape).astype(np.uint8)),
    )
