import torch

# Between codes 0 and 1, 1 and 2, and so on. A tie goes to the even code: up from an odd one.
MIDDLES = 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0


def mxfp4_encode(w):
    groups = w.float().reshape(len(w), -1, 32)
    _, exponents = torch.frexp(groups.abs().amax(2))
    exponents = torch.where(groups.any(2), exponents - 3, -127).clamp(min=-127)
    size = groups.abs() / torch.exp2(exponents.float())[:, :, None]
    codes = torch.zeros_like(size, dtype=torch.uint8)
    for code, middle in enumerate(MIDDLES):
        codes += (size >= middle) if code % 2 else (size > middle)
    codes = torch.where((groups < 0) & (codes != 0), codes | 8, codes)
    return exponents.to(torch.int8), codes.reshape(w.shape)
