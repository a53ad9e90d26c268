"""Exercise of split_k: repair splitk_group, a Split-K GEMM that takes wrong groups.

Inputs are exact, as in `grouped_cases`, and distinguish groups: in a row of W all pairs of scale
and zero differ. The first case is the text's author's own; the text as it ships gets it right. One
case has codes of all eight bits, two chunks without tiles, and a GROUP whose reciprocal float32
rounds so that k times it is too small. The last one is not exact: weights may be rounded to fp16
there, and nothing before them.
"""

from dataclasses import dataclass, replace
from functools import cache

import torch

from gemlite_edu.numbers import reference
from gemlite_edu.numbers.bounds import dequantized_error_bound, scaled_weights_error_bound
from gemlite_edu.numbers.reference import ScaledProduct
from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.chunk_shares import refuse_uneven_shares, with_a_row_for_each_tile
from gemlite_lab.checker.compare import compare
from gemlite_lab.checker.exercise import CheckFailed, Exercise
from gemlite_lab.checker.triton_answers import product_of
from gemlite_lab.sandbox.triton_products import splitk_group_sums

_QUANTUM = 1 / 16
_MAX_QUANTA = 2**24  # float32 sums are exact up to this
_SHAPES = (  # chunks, BLOCK_K, GROUP, M, N, K
    (1, 32, 32, 3, 32, 128),
    (3, 32, 32, 3, 33, 384),
    (2, 32, 128, 5, 40, 288),  # 5 and 4 tiles; the last group is one tile
    (2, 32, 16, 17, 40, 240),  # the last tile is half empty
    (3, 64, 48, 5, 33, 400),
)
_LONG, _BROAD, _EMPTY, _WIDE, _FRESH, _RANDOM, _SHARED, _LONGEST = (
    (1, 256, 16, 1, 1, 4112),  # more groups than a byte counts
    (1, 32, 48, 1, 70, 96),  # in a group, all zeros differ
    (5, 128, 656, 3, 1, 752),  # 6 tiles: chunk 3 would begin behind the last one, chunk 4 later
    (1, 32, 48, 70, 1, 96),
    (2, 32, 48, 5, 33, 96),
    (2, 32, 48, 32, 32, 96),
    (3, 32, 48, 1, 9, 192),
    (1, 512, 128, 3, 1, 32_896),  # a number of 16 bits with a sign ends at 32,767
)
_FEW_GROUPS = 16
_LARGEST_BLOCK_K = 128
_ZEROS_OF_MANY = 53  # so many zeros and five scales tell 265 groups apart
_TILES_ARE_GROUPS = 32, 32, 17, 33, 272  # the last tile is half empty


@dataclass(frozen=True)
class _SplitCase:
    """A Split-K GEMM: x (M, K) float16, W_q (N, K) uint8; scales, zeros (groups, N) float32."""

    label: str
    chunks: int
    block_k: int
    group_size: int
    W_q: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    x: torch.Tensor
    is_exact: bool = True

    @property
    def fits_a_gpu(self):
        """False for blocks that need more shared memory than most GPUs have."""
        return self.block_k <= _LARGEST_BLOCK_K


@cache
def _cases():
    exact = [_case(*shape, seed) for seed, shape in enumerate(_SHAPES)]
    exact += [_long_case(*_LONG), _case(*_BROAD, seed=0, zeros=_BROAD[4] + 1)]
    empty, shares = _case(*_EMPTY, seed=0, codes=256), _case(*_SHARED, seed=0)
    shares = with_a_row_for_each_tile(shares, shares.block_k)
    longest = _case(*_LONGEST, seed=0, zeros=_ZEROS_OF_MANY)
    return [*exact, empty, _wide_case(*_WIDE), _random_case(*_RANDOM), shares, longest]


def _case(chunks, block_k, group_size, M, N, K, seed, codes=16, zeros=16):
    """An exact case; each code is below `codes`, and each zero below `zeros`."""
    generator = torch.Generator().manual_seed(seed)
    n, g = torch.arange(N), torch.arange(-(-K // group_size)).view(-1, 1)
    k = torch.arange(K)
    x = torch.randint(-3, 4, (M, K), generator=generator).half()
    x[k % M, k] = torch.randint(1, 4, (K,), generator=generator).half()
    case = _SplitCase(
        f"chunks = {chunks}, BLOCK_K = {block_k}, GROUP = {group_size}, M = {M}, N = {N}, K = {K}",
        chunks,
        block_k,
        group_size,
        torch.randint(0, codes, (N, K), dtype=torch.uint8, generator=generator),
        2.0 ** ((2 * n + 3 * g) % 5) * _QUANTUM,
        ((7 * n + 3 * g + 1) % zeros).float(),
        x,
    )
    _check_sums(case)
    return case


def _check_sums(case, quantum=_QUANTUM):
    largest = reference.matmul(case.x.abs(), _weights(case).abs()).max() / quantum
    assert largest < _MAX_QUANTA, f"{case.label}: sums are not exact in float32"


def _long_case(*size):
    """A case of one row in which all zeros differ, and all scales.

    Codes lie next to their zero, so that bf16 holds the weights: 1, 0 or -1 times a scale.
    """
    case = _case(*size, seed=0)
    groups = len(case.scales)
    g = torch.arange(groups)[:, None]
    zeros, place = (100 * g % groups - 1).float(), 60 * g % groups
    scales = (128 + place % 128) * 2.0 ** (place // 128) * _QUANTUM
    beside = zeros[torch.arange(case.x.shape[1]) // case.group_size].T + case.W_q % 2.0 * 2 - 1
    W_q = beside.clamp(0, 255).to(torch.uint8)
    case = replace(case, W_q=W_q, zeros=zeros, scales=scales)
    _check_sums(case)
    return case


def _fresh_case(seed):
    """A case with scales of both signs, and zeros far below and above all codes."""
    case = _case(*_FRESH, seed, codes=256)
    sign = 1 - 2 * (torch.arange(case.scales.numel()).view(case.scales.shape) % 3 % 2)
    zeros = case.zeros + 300 * (torch.arange(len(case.W_q)) % 3 - 1)
    case = replace(case, scales=case.scales * sign, zeros=zeros)
    _check_sums(case)
    return case


def _wide_case(*size):
    """A case whose x have nine bits and whose weights have nine: fp16 holds them, bf16 does not.

    Sums are exact in float32 and not in fp16; each k meets one row of x, so that they stay short.
    """
    case = _case(*size, seed=0, codes=256)
    generator = torch.Generator().manual_seed(0)
    K = case.x.shape[1]
    k, x = torch.arange(K), torch.zeros_like(case.x)
    x[k % len(x), k] = 2.0 * torch.randint(128, 256, (K,), generator=generator).half() + 1
    case = replace(case, label=f"{case.label}, x of nine bits", x=x, zeros=case.zeros + 0.5)
    _check_sums(case, _QUANTUM / 2)
    return case


def _random_case(*size):
    """A case of random scales and zeros, in which each y is one product.

    So no sum hides that a scale, a zero or their difference was rounded to fp16.
    """
    case = _case(*size, seed=0)
    generator = torch.Generator().manual_seed(0)
    M, K = case.x.shape
    m, x = torch.arange(M), torch.zeros_like(case.x)
    x[m, m * K // M] = 1 + torch.rand(M, generator=generator).half()
    scales = (1 + torch.rand(case.scales.shape, generator=generator)) / 16
    zeros = torch.rand(case.zeros.shape, generator=generator) * 16
    label = f"{case.label}, random numbers"
    return replace(case, label=label, x=x, scales=scales, zeros=zeros, is_exact=False)


def _weights(case):
    """W (N, K) float64."""
    group = torch.arange(case.x.shape[1]) // case.group_size
    scales, zeros = case.scales.double()[group], case.zeros.double()[group]
    return ((case.W_q.double().T - zeros) * scales).T


def _run(answer, case, device):
    operands = case.x, case.W_q, case.scales, case.zeros
    cut = case.group_size, case.block_k, case.chunks
    sums = product_of(answer, splitk_group_sums, *operands, *cut, device)
    y = sums.sum(0)
    refuse_uneven_shares("splitk_group", case, sums, y, _expected(case)[0])
    if not case.is_exact:
        _refuse_early_rounding(y, case)
    return y


def _expected(case):
    if case.is_exact:
        return reference.matmul(case.x, _weights(case)).float(), None
    dense = ScaledProduct(case.x, _weights(case))
    return dense.exact(), dequantized_error_bound(dense, torch.float32, weight_dtype=torch.float16)


def _refuse_early_rounding(y, case):
    """Raise CheckFailed for a y that is only right if each step to a weight may round to fp16."""
    right, bound = _expected(case)
    mismatch = compare("y", y, right, bound, torch.float32)
    steps = ScaledProduct(case.x, case.W_q, scales=case.scales.T, zeros=case.zeros.T)
    looser = scaled_weights_error_bound(steps, torch.float32, compute_dtype=torch.float16)
    if mismatch and compare("y", y, right, looser, torch.float32) is None:
        raise CheckFailed(
            f"splitk_group is wrong on {case.label}: {mismatch}. Something is rounded to fp16 "
            "before the weight is: (code - zero) * scale is float32, and then it is rounded once"
        )


def _unsplit(case):
    return replace(case, chunks=1)


def _without_empty_chunks(case):
    """The case with as many chunks as have a tile, which are as long."""
    tiles = -(-case.x.shape[1] // case.block_k)
    return replace(case, chunks=-(-tiles // -(-tiles // case.chunks)))


def _sizes_of(case):
    return len(case.x), *case.W_q.shape


def _with_groups_of_a_tile(case):
    """A case in as many chunks whose tiles are groups, and where all else can go wrong.

    A case of random numbers stays as it is: it is there for what is rounded. One of many groups has
    as many of them, and tiles as small.
    """
    if not case.is_exact:
        return case
    if len(case.scales) > _FEW_GROUPS:
        size = case.group_size
        return _case(case.chunks, size, size, *_sizes_of(case), seed=0, zeros=_ZEROS_OF_MANY)
    return _wide_case(case.chunks, *_TILES_ARE_GROUPS)


SPLITK_GROUP = Exercise(
    name="splitk_group",
    lesson="split_k",
    output="y",
    dtype=torch.float32,
    is_kernel=False,
    is_triton=True,
    compiled_cases=(1, 4),
    hints=(
        "Write down, for chunk 1, which k its tile 0 holds and which group_index it takes.",
        "Each k has its group, whoever adds it up: the group follows from k within all of K. And "
        "may all k of a tile share one?",
        "k is a tensor of BLOCK_K numbers, so k // GROUP is one group for each of them: load "
        "scales and zeros as tensors (BLOCK_N, BLOCK_K), as codes are.",
    ),
    cases=_cases,
    fresh=lambda seed: fresh(_fresh_case, seed),
    expected=_expected,
    run=_run,
    traps={
        "every chunk had a tile; one without stores zeros": _without_empty_chunks,
        "K were one chunk": _unsplit,
        "each tile were a group": _with_groups_of_a_tile,
    },
)
