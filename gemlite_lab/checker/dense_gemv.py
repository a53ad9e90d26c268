"""Exercise of triton_primer: write dense_gemv, a product with unquantized weights in Triton.

Inputs are small whole numbers, so that every sum is exact in float32, in any order. x and W lie in
wider memory with gaps between their rows, and the gaps hold numbers, later NaN. One case has
products of 22 bits, which fp16 rounds; the last one is a real layer.
"""

from dataclasses import dataclass, replace
from functools import cache, partial

import torch

from gemlite_edu.numbers.bounds import factored_error_bound
from gemlite_edu.numbers.reference import ScaledProduct
from gemlite_lab.checker.cases import fresh, real_plain
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.triton_answers import product_of
from gemlite_lab.sandbox.triton_products import dense_product

_IN_GAPS = 3.0
_REAL_ROWS = 40
_LEAST = 2.0**-24  # of fp16
_LARGE_SIZE, _MANY_ROWS = 1000, 60
_LARGEST_BLOCK = 2**13
_X_EVERY = 27  # k has an x in the wide case, so that a sum needs no more than 24 bits
_SMALL = 10  # fp16 holds each product and sum of smaller numbers


@dataclass(frozen=True)
class _DenseCase:
    """x (M, K) and W (N, K) float16, in any strides, and the blocks of a program."""

    label: str
    x: torch.Tensor
    W: torch.Tensor
    block_n: int
    block_k: int
    is_exact: bool = True

    @property
    def fits_a_gpu(self):
        """False for blocks that take a GPU's compiler long, and more registers than it has."""
        return self.block_n * self.block_k <= _LARGEST_BLOCK


@cache
def _cases():
    return [
        _case(1, 32, 32, seed=0, block_n=8, block_k=32),
        _case(3, 33, 64, seed=1),
        _case(1, 64, 144, seed=2),
        _case(2, 40, 140, seed=3),
        _case(1, 1, 5, seed=4),
        _case(1, 33, 150, seed=5, block_n=16, block_k=32),
        _case(2, 33, 128, seed=6, x_gap=16),
        _case(2, 33, 128, seed=7, W_gap=24),
        _transposed(_case(2, 33, 128, seed=8)),
        _transposed(_case(2, 20, 100, seed=9, x_gap=9, W_gap=5)),
        _of_every_second(_case(2, 33, 100, seed=16)),
        _of_every_second(_transposed(_case(2, 20, 100, seed=17))),
        _wide(_case(2, 33, 80, seed=10)),
        _tiny(_case(2, 9, 40, seed=12)),
        _case(1, 3, 66_000, seed=13, block_n=4, block_k=16_384),
        _case(1, 33_000, 9, seed=14, block_n=16_384, block_k=4),
        _case(130, 2, 4, seed=15, block_n=2, block_k=4),
        _case(2, 33, 150, seed=11, x_gap=30, W_gap=30, gap=torch.nan),
        _real(),
    ]


def _case(M, N, K, seed, block_n=32, block_k=64, x_gap=0, W_gap=0, gap=_IN_GAPS):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(1, 4, (M, K), generator=generator)
    x = x * (2 * torch.randint(0, 2, (M, K), generator=generator) - 1)
    W = torch.randint(-9, 10, (N, K), generator=generator)
    label = f"M = {M}, N = {N}, K = {K}, BLOCK_N = {block_n}, BLOCK_K = {block_k}"
    between = " and ".join(name for name, size in (("x", x_gap), ("W", W_gap)) if size)
    label += f", gaps between rows of {between}" * bool(between) + ", with NaN in them" * (
        gap != gap
    )
    return _DenseCase(
        label, _with_gaps(x.half(), x_gap, gap), _with_gaps(W.half(), W_gap, gap), block_n, block_k
    )


def _with_gaps(tensor, width, gap):
    """The tensor as a part of a wider one, whose rows end in `width` numbers `gap`."""
    rows, columns = tensor.shape
    wider = torch.full((rows, columns + width), gap, dtype=tensor.dtype)
    wider[:, :columns] = tensor
    return wider[:, :columns]


def _transposed(case):
    """The case with a W whose neighbours in n are neighbours in memory."""
    label = f"{case.label}, W stored transposed"
    gap = case.W.stride(0) - case.W.shape[1]
    return replace(case, label=label, W=_with_gaps(case.W.T, gap, _IN_GAPS).T)


def _of_every_second(case):
    """The case with a W that is every second row and column of a tensor."""
    W = case.W.repeat_interleave(2, 0).repeat_interleave(2, 1)
    W = W.T.contiguous().T if case.W.stride(0) == 1 else W
    W[1::2], W[:, 1::2] = _IN_GAPS, _IN_GAPS
    return replace(case, label=f"{case.label}, W every second row and column", W=W[::2, ::2])


def _wide(case):
    """The case with products of 22 bits, which fp16 rounds; few k, in all turns, have an x."""
    generator = torch.Generator().manual_seed(0)
    x = 2 * torch.randint(512, 1024, case.x.shape, generator=generator) + 1
    W = 2 * torch.randint(-1024, 1024, case.W.shape, generator=generator) + 1
    x[:, torch.arange(x.shape[1]) % _X_EVERY != 0] = 0
    return replace(case, label=f"{case.label}, x and W of 11 bits", x=x.half(), W=W.half())


def _tiny(case):
    """The case with the smallest numbers of fp16."""
    label = f"{case.label}, x and W of 2^-24"
    return replace(case, label=label, x=case.x * _LEAST, W=case.W * _LEAST)


def _real():
    real = real_plain(tokens=2)
    label = f"real layer (ffn_up of MiniLM), M = 2, N = {_REAL_ROWS}, K = {real.x.shape[1]}"
    return _DenseCase(label, real.x, real.W[:_REAL_ROWS], 32, 64, is_exact=False)


def _fresh(seed):
    return _transposed(_case(2, 40, 140, seed, x_gap=seed % 7, W_gap=seed % 5))


def _expected(case):
    given = ScaledProduct(case.x, case.W)
    if case.is_exact:
        return given.exact().float(), None
    return given.exact(), factored_error_bound(given, torch.float32)


def _run(answer, case, device):
    return product_of(answer, dense_product, case.x, case.W, case.block_n, case.block_k, device)


def _is_large(case):
    """True if a size is there for answers that stop at some number, which is no trap."""
    return len(case.x) >= _MANY_ROWS or max(case.x.shape[1], len(case.W)) >= _LARGE_SIZE


def _of_one_row(case):
    return case if len(case.x) == 1 or _is_large(case) else replace(case, x=case.x[:1])


def _without_gaps(case):
    if case.x.is_contiguous() and case.W.is_contiguous():
        return case
    return replace(case, x=case.x.contiguous(), W=case.W.contiguous())


def _of_one_block(case):
    """The case with the first BLOCK_K numbers of each row alone."""
    if case.x.shape[1] <= case.block_k or _is_large(case):
        return case
    x, W = (tensor[:, : case.block_k] for tensor in (case.x, case.W))
    return replace(case, x=_like(case.x, x), W=_like(case.W, W))


def _like(tensor, part):
    """A part of `tensor`, without gaps if that had none."""
    return part.contiguous() if tensor.is_contiguous() else part


def _of_small_numbers(case):
    if max(case.x.abs().max(), case.W.abs().max()) < _SMALL:
        return case
    return replace(case, x=case.x.sign(), W=case.W.sign())


DENSE_GEMV = Exercise(
    name="dense_gemv",
    lesson="triton_primer",
    output="y",
    dtype=torch.float32,
    is_kernel=False,
    is_triton=True,
    compiled_cases=(0, 9),
    hints=(
        "Take the GEMV of the lesson for the blocks, and its row sum for the loop over K. What has "
        "to live across the turns of the loop?",
        "program_id(0) says which BLOCK_N rows of W, program_id(1) which row m of x. In each turn "
        "k goes from where the turn begins, BLOCK_K numbers at a time, and W is a block "
        "(BLOCK_N, BLOCK_K) of addresses: n[:, None] * stride_n + k[None, :] * stride_k.",
        "Both masks for W: n[:, None] < N and k[None, :] < K, joined by &, with other=0. Make both "
        "blocks float32 before you multiply, add tl.sum(..., axis=1) to an accumulator of BLOCK_N "
        "zeros, and store it at y_ptr + m * N + n where n < N.",
    ),
    cases=_cases,
    fresh=partial(fresh, _fresh),
    expected=_expected,
    run=_run,
    traps={
        "x had one row": _of_one_row,
        "K were BLOCK_K": _of_one_block,
        "x and W lay row by row, without gaps": _without_gaps,
        "fp16 could hold each product and each sum": _of_small_numbers,
    },
)
