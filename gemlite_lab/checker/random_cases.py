"""Random inputs on which a float32 kernel that rounds anything to fp16 leaves its bound.

They are short, so that the bound on float32 rounding is small; their sums almost cancel, so that
the rounding of a small y hides nothing; and they are not round: scales are no powers of two,
zero-points have fractions and both signs, and rows of x go from the largest number of fp16 to its
subnormal ones.
"""

from dataclasses import replace

import torch

from gemlite_lab.checker.cases import GemvCase, PlainCase
from gemlite_lab.checker.grouped_cases import GroupedCase
from gemlite_lab.checker.sparse_cases import NBITS, SparseGemvCase, sparse_codes

_M, _N, _K = 8, 33, 60
_LARGEST_X, _SMALLEST_X = 13, -6  # exponents of two
_SUBNORMAL_X = -16
_BEYOND_16_BITS = 66560
_EVERY = 331  # one k of so many meets an x in the long case


def random_plain():
    """A `PlainCase` of normal numbers."""
    generator = _generator()
    W = torch.randn(_N, _K, generator=generator).half() / 64
    return PlainCase(_label(_M, _N, _K), W, _x(_M, _K, generator), False)


def random_gemv(nbits):
    """A `GemvCase` of random codes."""
    generator = _generator()
    W_q = torch.randint(0, 2**nbits, (_N, _K), dtype=torch.uint8, generator=generator)
    parts = _scales(nbits, (_N, 1), generator), _zeros(nbits, (_N, 1), generator)
    label = f"{nbits}-bit, {_label(2 * nbits, _N, _K)}"
    return GemvCase(label, nbits, W_q, *parts, _x(2 * nbits, _K, generator), False)


def random_sparse_gemv():
    """A `SparseGemvCase` of random codes, of which half are kept."""
    generator = _generator()
    codes = sparse_codes(_N, _K, seed=1)
    parts = _scales(NBITS, (_N, 1), generator), _zeros(NBITS, (_N, 1), generator)
    x = _x(2 * NBITS, _K, generator)
    label = _label(len(x), _N, _K)
    return SparseGemvCase(label, NBITS, codes.W_q, *parts, x, False, codes.kept)


def random_grouped(nbits, group_size, N, K):
    """A `GroupedCase` of random codes; no two groups have the same scale or zero-point.

    Every third scale is negative.
    """
    generator = _generator()
    W_q = torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8, generator=generator)
    groups = N, K // group_size
    parts = _scales(nbits, groups, generator), _zeros(nbits, groups, generator)
    parts[0].view(-1)[1::3] *= -1
    label = f"{nbits}-bit, groups of {group_size}, {_label(_M, N, K)}"
    return GroupedCase(label, nbits, group_size, W_q, *parts, _x(_M, K, generator), False)


def long_grouped(nbits, group_size):
    """A `GroupedCase` with bfloat16 x, in which 16 bits cannot count k, nor 8 bits the groups.

    Rows of x meet the k that fit in 15 bits, those that need 16, those that need 17, and all. Few k
    meet an x, so that the bound is small.
    """
    case = random_grouped(nbits, group_size, N=1, K=_BEYOND_16_BITS)
    k = torch.arange(_BEYOND_16_BITS)
    bits = torch.stack([k >> 15 == 0, k >> 15 == 1, k >> 15 == 2, k >= 0])
    met = bits & ((k % _EVERY == 0) | (k >> 16 == 1) & (k % 16 == 0))
    x = torch.randn(met.shape, generator=_generator()) * met
    label = f"{nbits}-bit, groups of {group_size}, {_label(len(x), 1, len(k))}, bfloat16"
    return replace(case, label=label, x=x.bfloat16())


def cancelling_gemv(values):
    """A 4-bit `GemvCase` whose y[n, n] tells if code n stands for values[n], up to 5e-7.

    values (16,): a large x times this number almost cancels another large x. No other k meets an x,
    so that the bound is small.
    """
    codes, one = torch.arange(16), values.abs().argmax()
    W_q = torch.stack([codes, one.expand(16)], 1)
    x = torch.full((16, 2), 2000.0).double()
    x[:, 1] *= -values / values[one]
    parts = torch.ones(16, 1), torch.zeros(16, 1)
    label = f"4-bit, {_label(16, 16, 2)} that almost cancel"
    return GemvCase(label, 4, W_q.to(torch.uint8), *parts, x.half(), False)


def _generator():
    return torch.Generator().manual_seed(0)


def _label(M, N, K):
    return f"M = {M}, N = {N}, K = {K}, random numbers"


def _x(M, K, generator):
    """x (M, K) whose rows go from the largest to the smallest; the last is subnormal."""
    exponents = torch.linspace(_LARGEST_X, _SMALLEST_X, M).round()
    exponents[-1] = _SUBNORMAL_X
    x = (torch.randn(M, K, generator=generator) * 2.0 ** exponents[:, None]).half()
    x[0, 0] = torch.finfo(torch.float16).max
    return x


def _scales(nbits, shape, generator):
    """Scales with which the largest x gives a y far from the limit of fp16."""
    return 2.0 ** -(nbits + 5) * (1 + torch.rand(shape, generator=generator))


def _zeros(nbits, shape, generator):
    """Zero-points up to the top code plus 1; those of every fifth row are negative."""
    zeros = torch.rand(shape, generator=generator) * 2**nbits
    zeros[4::5] *= -1
    return zeros
