"""The numbers that the kernels of the lesson cuda_c get: drawn by lot, and rare ones among them."""

import math

import torch

from gemlite_lab.checker.rare_numbers import FLOATS, among, scaled

# A total and its count: 24 bits hold each of them, so that floats and doubles give one quotient.
# Of the last three a whole quotient and the quotient of the remainder give another sum.
RATIOS = (
    *((0, 7), (100_000_000, 1), (100, -40), (2**31 - 128, 5000), (100_000, 40_000)),
    *((-(2**31), 3), (7, -40_000), (-5, 2**31 - 128), (1, 1), (-9, -1)),
    *((18_302, 1457), (-53_593, 961), (-10_166, 319)),
)
# a, b and c: results that are 0, subnormal halves, the largest ones, and at last infinite.
TRIPLES = (
    *((0, 0, 0), (3e-5, 1, 0), (65_504, 1, 0), (2, 3, -6), (1, 2**-24, 0), (0, 0, -4e-5)),
    *((0.09, 0.1, 0), (2**-10, 2**-12, 0), (2**-14, 2**-14, 0), (1, -65_504, 0), (0, 1, 65_504)),
    *((3e-4, 1, 0), (-1, 3e-5, 0), (1e-3, -1, 0), (0, 3, 5e-3), (0.25, -65_504, 0)),
    *((2**-24, 65_504, 0), (-2, 4, 8), (100, 1000, 0), (-100, 1000, 0)),
)
POWERS = (0, 2**-40, -(2**30), 2**-14, 2**40, -(2**-20))  # a product with them is exact
# No int holds a sum with the last one, which the first case does not reach.
_SCALES = (2**-60, 0, 2**-12, 2**6, 2**-30, -1, 2**-100, 2**60)


def quarters(bits, shape=lambda *sizes: sizes):
    """Multiples of 1/4, not 0, of so many bits."""

    def draw(generator, *sizes):
        numbers = torch.randint(1, 2**bits, shape(*sizes), generator=generator)
        return numbers * _signs(generator, numbers) / 4

    return draw


def summands(generator, N, K):
    """Multiples of 1/4 of so many bits that a sum of K of them is exact in any order.

    Some are 0, and some rows have another unit.
    """
    deviations = 8 * math.sqrt(K)  # a sum so far from 0 is none that anybody will see
    drawn = quarters(24 - math.ceil(math.log2(deviations)))(generator, N, K)
    return scaled(among(drawn, [0]), _SCALES, run=K)


def floats(generator, N, run=1):
    """Numbers of 24 bits, from 1/2 to 2^19 in size, and rare ones in runs of this length.

    Most sums of two need more bits.
    """
    numbers = torch.randint(2**22, 2**23, (N,), generator=generator) * 2 + 1
    exponents = torch.randint(-24, -4, (N,), generator=generator)
    drawn = (numbers * _signs(generator, numbers)).float() * 2.0**exponents
    return among(drawn, FLOATS, run)


def with_rare(rare, draw):
    return lambda generator, *sizes: among(draw(generator, *sizes), rare)


def _signs(generator, like):
    return torch.randint(0, 2, like.shape, generator=generator) * 2 - 1


def integers(low, high, dtype=torch.int32, shape=lambda *sizes: sizes):
    """Whole numbers from low to high."""

    def draw(generator, *sizes):
        return torch.randint(low, high + 1, shape(*sizes), generator=generator).to(dtype)

    return draw


def halves(*large):
    """Multiples of 1/16 as halves; two of seven numbers are near the large ones, in turn."""

    def draw(generator, N):
        numbers = torch.randint(-900, 901, (N,), generator=generator) / 16
        near = torch.randint(0, 50, (2, N), generator=generator) / 2
        for first, number in enumerate(large):
            numbers[3 * first :: 7] = number + near[first, 3 * first :: 7]
        return numbers.half()

    return draw
