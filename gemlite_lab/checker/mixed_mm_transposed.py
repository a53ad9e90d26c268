"""Exercise of transposed: write the index of mixed_mm_transposed, from the first byte to y."""

from functools import cache, partial

import torch

from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.chunk_shares import refuse_uneven_shares, with_a_row_for_each_tile
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.int4_cases import (
    as_on_a_gpu,
    check_on_cpu,
    exact_int4,
    expected,
    laid_apart,
    many_groups_int4,
    padded,
    random_int4,
    wide_int4,
)
from gemlite_lab.checker.triton_answers import product_of
from gemlite_lab.sandbox.triton_products import transposed_product

_NAME = "mixed_mm_transposed"
_SPARE = 6  # so that most wrong rows of scales exist, and differ from the right ones


def _case(shape, group_size, blocks, chunks, *views, make=exact_int4, spare=_SPARE, **how):
    config = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), blocks, strict=True))
    config |= {"chunks": chunks, "num_warps": 4, "num_stages": 1}
    return make(shape, group_size, config, views, columns="N", spare=spare, **how)


@cache
def _cases():
    return [
        _case((5, 192, 192), 64, (32, 32, 64), 1, "b", "scales"),  # tiles are squares, so is W
        padded(_case((5, 136, 128), 64, (16, 32, 32), 2)),  # groups of two blocks, next of three
        padded(_case((17, 40, 144), 48, (16, 32, 16), 3, "b", signed=True, dtype=torch.float16)),
        _case((3, 136, 64), 32, (16, 32, 32), 4, "scales", signed=True),  # 2, 2, 1 and no tiles
        _case((70, 60, 32), 32, (64, 32, 32), 2, "b", make=wide_int4),
        _case((1, 1100, 32), 32, (16, 64, 32), 1),
        as_on_a_gpu(_case((1, 16, 640), 128, (16, 16, 128), 1)),
        # sums that fp16 does not hold, of three tiles
        as_on_a_gpu(_case((5, 96, 32), 32, (16, 32, 32), 1, make=wide_int4)),
        _case((5, 40, 32), 32, (16, 32, 32), 2, make=random_int4),
        _case((1, 16, 24 * 16), 16, (16, 16, 16), 1, make=many_groups_int4),
        with_a_row_for_each_tile(_case((1, 192, 32), 32, (16, 32, 32), 3), 32),
        _case((2, 40, 64), 32, (16, 32, 32), 2, spare=0),  # nothing behind the last group is there
    ]


def _fresh(seed):
    """Codes and scales of another type for each seed, with gaps between them, and few rows of W."""
    how = {"signed": seed % 2 == 0, "dtype": (torch.float16, torch.float32)[seed // 2 % 2]}
    shape = 1 + seed % 5, 1 + seed % 4, 64
    return as_on_a_gpu(laid_apart(_case(shape, 32, (16, 32, 32), 2, seed=seed, **how)))


def _fresh_of_many_rows(seed):
    return as_on_a_gpu(laid_apart(_case((5, 40, 64), 64, (16, 32, 32), 2, seed=seed)))


def _all_fresh(seed):
    return [case for make in (_fresh, _fresh_of_many_rows) for case in fresh(make, seed)]


_expected = partial(expected, y_dtype=torch.float16, is_transposed=True)


def _run(answer, case, device):
    operands = case.x, case.packed, case.scales, case.zeros
    cut = case.group_size, case.config
    how = *cut, device, case.interpreted_dtype
    y, sums = product_of(answer, transposed_product, *operands, *how)
    refuse_uneven_shares(_NAME, case, sums, y, _expected(case)[0])
    if device == "cpu":
        check_on_cpu(_NAME, y, case, is_transposed=True)
    return y


MIXED_MM_TRANSPOSED = Exercise(
    name=_NAME,
    lesson="transposed",
    output="y",
    dtype=torch.float16,
    is_kernel=False,
    is_triton=True,
    compiled_cases=(0, 2),
    hints=(
        "Take K = 8, BLOCK_K = 4, GROUP = 4, and write down for the program of k = 4 to 7 which "
        "bytes of a row it reads and which row of scales. Which of that changes with n?",
        "A program keeps its bytes and its group, and goes from tile to tile of n: to other "
        "columns of x, other rows of bytes, other columns of scales and zeros. Beyond N, x must "
        "be 0, and everything else may be any row of W that exists.",
        "Blocks: x (BLOCK_M, BLOCK_N), pairs (BLOCK_N, BLOCK_K // 2), scales and zeros "
        "(BLOCK_N, 1), so n is along axis 0 of all three that make weights. Scale the weights "
        "before tl.dot; one dot for the even k, one for the odd. tl.join lays two blocks side by "
        "side along a new last axis, which reshape then makes part of the axis before it.",
    ),
    cases=_cases,
    fresh=_all_fresh,
    expected=_expected,
    run=_run,
)
