import math

import torch

LEVELS = 0, 0.5, 1, 1.5, 2, 3, 4, 6


def mxfp4_encode(w):
    exponents, codes = [], []
    for row in w.tolist():
        for start in range(0, len(row), 32):
            group = row[start : start + 32]
            largest = max(map(abs, group))
            exponents.append(max(math.floor(math.log2(largest)) - 2, -127) if largest else -127)
            codes += [code_of(value / 2.0 ** exponents[-1]) for value in group]
    N, K = w.shape
    exponents = torch.tensor(exponents, dtype=torch.int8).view(N, K // 32)
    return exponents, torch.tensor(codes, dtype=torch.uint8).view(N, K)


def code_of(value):
    code = min(range(8), key=lambda code: (abs(abs(value) - LEVELS[code]), code % 2))
    return code + 8 if value < 0 and code else code
