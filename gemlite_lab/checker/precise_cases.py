"""Exact inputs on which a kernel that rounds anything to fewer bits than float32 gives a wrong y.

Rows of x have full mantissas and almost cancel: two neighbours meet equal codes, so that y is small
and its products need up to 21 bits. Zero-points have fractions and both signs. The magnitudes that
an output adds up stay below 2**24 units, so that every sum is exact in float32 in any order.
"""

from dataclasses import replace

import torch

from gemlite_lab.checker.cases import GemvCase, codes, exact_gemv
from gemlite_lab.checker.grouped_cases import GroupedCase
from gemlite_lab.checker.sparse_cases import NBITS, SparseGemvCase, sparse_codes

_WARP_SIZE = 32
_PAIRS = 4  # rows of x in which two large numbers almost cancel
_ROWS_OF_X = 3  # of a grouped case that become such rows
_LARGEST = {torch.float16: 2047, torch.bfloat16: 255}
_LOWER_X = 2.0**-3  # keeps x in the range of fp16
_SMALL_X = 2.0**-90
_BEYOND_HALF = 2.0**100, _SMALL_X  # no half holds an x times one of these
_BITS_OF_ZERO, _BITS_OF_WEIGHT = 22, 10
_EXACT = 2**24
_FAR = 2**22  # a zero this far from the codes, times 3, is exact in float32
_FAR_FOR_HALF = 2**15  # a half rounds such a zero, and does not make infinity of it
_FURTHER = 2**20  # of two codes less such a zero, 16 bits do not keep the difference
_BEYOND_INT = 3.0 * 2**30  # a zero that no 32-bit integer is
_HIDDEN_X = 2.0**-12
_GROUPS = 3  # of a case with fine scales


class _FineGroupedCase(GroupedCase):
    """A `GroupedCase` in which a group's scale or zero, rounded, is that of another group."""

    is_telling = False  # so that the output of one mistake is the output of others too


def precise_gemv(nbits, N, K, seed, dtype=torch.float16, has_zeros=True):
    """A `GemvCase` with large x that almost cancel; K of a tile or more.

    has_zeros: False for a format whose weights are multiples of 1/2 up to 8 and that ignores zeros,
    which are then large.
    """
    case = exact_gemv(nbits, N, K, seed)
    generator = torch.Generator().manual_seed(seed)
    first = 2 * torch.randperm((K - _WARP_SIZE - 1) // 2, generator=generator)[:_PAIRS]
    W_q, rows = case.W_q.clone(), torch.arange(_PAIRS)
    W_q[:, first + 1] = W_q[:, first]
    large = _odd_numbers(_PAIRS, dtype, generator)
    shift = 1 if has_zeros else 2**7 * (2048 // (_LARGEST[dtype] + 1))
    x = torch.zeros(_PAIRS, K)
    x[rows, first + _WARP_SIZE] = 2.0 * rows + 1  # another code of the same word
    x[rows, first] = large * shift + (2.0 if has_zeros else 0.0)
    x[rows, first + 1] = -large * shift
    x = torch.cat([x, case.x.float().sum(0, keepdim=True)]) * _LOWER_X
    zeros = _zeros(nbits, torch.arange(N)[:, None]) if has_zeros else 1000 * (case.zeros + 1)
    top, unit = (2 * 2**nbits, 2.0 ** (nbits - _BITS_OF_WEIGHT)) if has_zeros else (8, 0.5)
    assert x.abs().sum(1).max() * top <= _EXACT * unit * _LOWER_X, f"{case.label}: not exact"
    scales, x = _in_type(case.scales, x, dtype, _BEYOND_HALF[0])
    label = f"{nbits}-bit, {_label(x, N, K, dtype)}, numbers that almost cancel"
    return GemvCase(label, nbits, W_q, scales, zeros, x, True)


def precise_sparse_gemv(N, K, seed, dtype=torch.float16):
    """A `SparseGemvCase` like `precise_gemv`, which keeps each weight that meets a large x."""
    case, drawn = precise_gemv(NBITS, N, K, seed, dtype), sparse_codes(N, K, seed)
    W_q, kept = drawn.W_q.clone(), drawn.kept.clone()
    k = torch.arange(K)
    is_large = (case.x.abs() > case.x.abs().amax() / 2).any(0)
    partner = k + torch.where(k // _WARP_SIZE % 2 == 0, _WARP_SIZE, -_WARP_SIZE)
    partner = partner[is_large]
    assert not is_large[partner[partner < K]].any(), f"{case.label}: both of a pair meet large x"
    kept[:, is_large], kept[:, partner[partner < K]] = True, False
    second = k[is_large][1::2]
    W_q[:, second] = W_q[:, second - 1]
    return SparseGemvCase(**{**vars(case), "W_q": W_q, "kept": kept})


def fine_gemv(nbits, seed, dtype=torch.float16, has_zeros=True):
    """A small `GemvCase` with small x and zero-points of 22 bits, most of them close to a code.

    The zero-points of two rows are far from all codes, and that of the last row is the top code.
    Each row of x has one number, but the last one has two, whose products nearly cancel.
    has_zeros: False for a format that ignores zeros, of which no row needs a small scale.
    """
    K, N = 7, 10
    W_q = codes(nbits, N, K, seed).W_q
    n = torch.arange(N)[:, None]
    near = torch.where(n % 2 == 0, W_q.amax(1, keepdim=True), W_q.amin(1, keepdim=True))
    off = (2 * (n * 37 % 256) + 257) * 2.0 ** (nbits - _BITS_OF_ZERO)
    zeros = torch.where(n % 3 == 2, -off, near - off)
    zeros[K:] = torch.tensor([[_FAR_FOR_HALF + 1.0], [-_FURTHER - 3], [2.0**nbits - 1]])
    k = n[:K, 0]
    x = torch.zeros(K + 1, K)
    x[k, k] = (-1.0) ** k * (1 + 2 * (k % 2)) * 4.0**-k
    x[K, :2] = torch.tensor([1.0, -1.0])
    scales = torch.where(has_zeros & (n >= K), 2.0**-n, 2.0 ** (12 - nbits - n % 2))
    scales, x = _in_type(scales, x, dtype, _SMALL_X)
    label = f"{nbits}-bit, {_label(x, N, K, dtype)}, small x and zeros of {_BITS_OF_ZERO} bits"
    return GemvCase(label, nbits, W_q, scales, zeros, x, True)


def fine_sparse_gemv(seed, dtype=torch.float16):
    """A `SparseGemvCase` like `fine_gemv`."""
    case = fine_gemv(NBITS, seed, dtype)
    kept = sparse_codes(*case.W_q.shape, seed).kept
    return SparseGemvCase(**{**vars(case), "kept": kept})


def hidden_sparse_gemv(N, K, seed, dtype=torch.float16):
    """A `SparseGemvCase` in which small x meet kept weights, and large x only pruned ones.

    All rows keep the same weights. Beside a large x float32 loses a small one. The zero-points of
    the first two rows are beyond 32-bit integers.
    """
    case, drawn = exact_gemv(NBITS, N, K, seed), sparse_codes(N, K, seed)
    W_q, zeros, kept = drawn.W_q.clone(), case.zeros.clone(), drawn.kept[:1].expand(N, K)
    W_q[:2], zeros[:2] = 0, torch.tensor([[1.0], [-1.0]]) * _BEYOND_INT
    scales = torch.cat([torch.tensor([[2.0**-32], [2.0**-31]]), case.scales[2:]])
    large = torch.tensor(2.0**100 if dtype == torch.bfloat16 else 2.0**15)
    x = torch.where(kept[0], case.x.float() * _HIDDEN_X, large).to(dtype)
    label = f"{_label(x, N, K, dtype)}, large x of pruned weights"
    return SparseGemvCase(label, NBITS, W_q, scales, zeros, x, True, kept.contiguous())


def precise_grouped(case, seed, dtype=torch.float16):
    """The exact `GroupedCase` with large x in its first rows, two of them in one group each."""
    K, generator = case.x.shape[1], torch.Generator().manual_seed(seed)
    k = torch.arange(K - 1)
    inside = k[(k % case.group_size < case.group_size - 1) & (k % _WARP_SIZE < _WARP_SIZE - 1)]
    first = inside[torch.randperm(len(inside), generator=generator)]
    first = first[first % 2 == first[0] % 2][:_ROWS_OF_X]
    rows, x, W_q = torch.arange(len(first)), case.x.float(), case.W_q.clone()
    W_q[:, first + 1] = W_q[:, first]
    large = _odd_numbers(len(first), dtype, generator)
    x[len(first) : 2 * len(first)] += x[: len(first)]
    x[: len(first)] = 0
    x[rows, first], x[rows, first + 1] = large + 2.0, -large
    n, g = torch.arange(len(W_q))[:, None], torch.arange(case.scales.shape[1])
    zeros = _zeros(case.nbits, 7 * n + 3 * g)
    _check_sums(case, x, zeros)
    scales, x = _in_type(case.scales, x, dtype, _BEYOND_HALF[seed % 2])
    label = f"{case.label}, numbers that almost cancel" + ", bfloat16" * (dtype == torch.bfloat16)
    return replace(case, label=label, W_q=W_q, scales=scales, zeros=zeros, x=x)


def fine_grouped(nbits, group_size, seed, dtype=torch.float16, M=8):
    """A small `_FineGroupedCase` with scales of 24 bits in half its rows, far zeros in the others.

    Half the rows of x have a 1 at one k, the others have 1 and -1 at two k of different groups. The
    scales of a row differ in their lowest byte alone, and meet two equal codes, powers of two; so
    each product is exact, and so is their difference.
    """
    generator = torch.Generator().manual_seed(seed)
    pairs, N, K = M // 2, 4, _GROUPS * group_size
    pair, group = torch.arange(pairs), torch.arange(_GROUPS)
    place = torch.randperm(group_size, generator=generator)[:pairs]
    first, second = (place + (pair + i) % _GROUPS * group_size for i in (0, 1))
    x = torch.zeros(M, K)
    x[pair, first], x[pair, second], x[pairs + pair, first] = 1.0, -1.0, 1.0
    W_q = codes(nbits, N, K, seed).W_q
    power = (2 ** ((pair + seed) % nbits)).to(torch.uint8)
    W_q[::2, first] = W_q[::2, second] = power
    high = torch.randint(2**15, 2**16, (N // 2, 1), generator=generator)
    low = torch.randperm(2**8 // _GROUPS, generator=generator)[:_GROUPS] * _GROUPS + group
    scales = 2.0 ** -(8 + torch.arange(N)[:, None]).expand(N, _GROUPS)
    scales[::2] = (high * 2.0**8 + low) * 2.0**-24 * torch.tensor([[1.0], [-1.0]])
    zeros = torch.zeros(N, _GROUPS)
    zeros[1::2] = (_FAR + 2 * group + 1) * torch.tensor([[1.0], [-1.0]])
    scales, x = _in_type(scales, x, dtype, _BEYOND_HALF[seed % 2])
    size = f"{nbits}-bit, groups of {group_size}, {_label(x, N, K, dtype)}"
    size += f", x up to {x.max():.0e}" * (dtype == torch.bfloat16)
    label = f"{size}, scales of 24 bits, and zeros of {_FAR} and more"
    return _FineGroupedCase(label, nbits, group_size, W_q, scales, zeros, x, is_exact=True)


def _check_sums(case, x, zeros):
    size = (2**case.nbits + zeros.abs().double()) * case.scales
    terms = x.abs().double() @ size.repeat_interleave(case.group_size, dim=1).T
    unit = 2.0 ** (case.nbits - _BITS_OF_WEIGHT) * case.scales.amin(1)
    few = (x != 0).sum(1) <= 2  # both of them in one group
    largest = torch.where(few[:, None], case.scales.amax(1) / case.scales.amin(1), 1.0)
    assert (terms < _EXACT * unit * largest).all(), f"{case.label}: sums are not exact in float32"


def _zeros(nbits, order):
    """Odd multiples of a power of two below 2**nbits, others for each number; a third negative."""
    odd = 2 * (order * 37 % 2 ** (_BITS_OF_WEIGHT - 1)) + 1
    return odd * 2.0 ** (nbits - _BITS_OF_WEIGHT) * torch.where(order % 3 == 2, -1, 1)


def _odd_numbers(count, dtype, generator):
    largest = _LARGEST[dtype]
    smaller = torch.randint(1, largest // 8, (count,), generator=generator)
    return (largest - 2 * smaller).float()


def _in_type(scales, x, dtype, factor):
    """Scales float32 and x in its type; bfloat16 x times the factor, and scales through it."""
    factor = factor if dtype == torch.bfloat16 else 1.0
    typed = (x * factor).to(dtype)
    assert (typed.float() == x * factor).all(), "x is not exact in its type"
    return scales.float() / factor, typed


def _label(x, N, K, dtype):
    return f"M = {len(x)}, N = {N}, K = {K}" + ", bfloat16" * (dtype == torch.bfloat16)
