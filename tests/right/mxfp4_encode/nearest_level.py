import torch

EVEN_FIRST = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
LEVELS = torch.tensor([0, 1, 2, 4, 0.5, 1.5, 3, 6])


def mxfp4_encode(w):
    exponents, codes = zip(*map(of_rows, w.float().split(64)), strict=True)
    return torch.cat(exponents), torch.cat(codes)


def of_rows(w):
    groups = w.unfold(1, 32, 32)
    largest = groups.abs().amax(-1)
    exponents = torch.full(largest.shape, -127.0)
    for exponent in range(-126, 126):
        exponents[largest >= 2.0 ** (exponent + 2)] = exponent
    quotients = groups * torch.pow(2.0, -exponents)[..., None]
    distances = (quotients.abs()[..., None] - LEVELS).abs()
    codes = EVEN_FIRST[distances.argmin(-1)]
    codes = codes + 8 * ((quotients < 0) & (codes > 0))
    return exponents.to(torch.int8), codes.to(torch.uint8).flatten(1)
