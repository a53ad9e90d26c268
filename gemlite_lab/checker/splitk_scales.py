"""Exercise of transposed: repair splitk_scales, which reads its scales from wrong places.

It is a forward product whose splits take turns along K. As it ships, it multiplies by the stride of
the scales before it divides by GROUP, and forgets the split; the first case does not show that.
"""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.chunk_shares import refuse_uneven_shares, with_a_row_for_each_tile
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.int4_cases import (
    as_on_a_gpu,
    as_views,
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
from gemlite_lab.sandbox.triton_products import splitk_scales_sums

_SPARE = 6  # so that most wrong rows of scales exist, and differ from the right ones


def _case(splits, block_k, shape, group_size, *views, make=exact_int4, spare=_SPARE, **how):
    config = {"SPLIT_K": splits, "BLOCK_K": block_k}
    return make(shape, group_size, config, views, spare=spare, **how)


@cache
def _cases():
    return [
        _case(1, 32, (3, 40, 288), 96, "b", "scales"),  # what a published test covers
        _case(3, 32, (3, 40, 384), 64, "b"),
        padded(_case(2, 32, (5, 33, 288), 96, signed=True)),  # 5 tiles and 4
        padded(_case(4, 32, (17, 40, 384), 96, "b", "scales", dtype=torch.float16)),
        _case(5, 32, (3, 40, 96), 32, "scales"),  # two splits have no tile
        _case(1, 32, (70, 3, 96), 96, "b", make=wide_int4),
        as_on_a_gpu(_case(1, 256, (1, 2, 2304), 768)),
        as_on_a_gpu(_case(1, 32, (5, 3, 96), 96, make=wide_int4)),  # sums that fp16 does not hold
        _case(2, 32, (5, 130, 64), 32, make=random_int4),
        # 36 groups of two tiles; of one row of x, the sum over a group is 0
        _case(9, 32, (2, 2, 64 * 36), 64, make=many_groups_int4),
        with_a_row_for_each_tile(_case(3, 32, (1, 9, 192), 32), 32),
        # 41 times 32 / 1312 is less than 1 in float32. (Never BLOCK_K = 16: see mixed_mm_configs.)
        _case(1, 32, (1, 2, 2624), 1312),
        _case(3, 32, (2, 7, 192), 64, spare=0),  # nothing may be read behind the last group
    ]


def _fresh(seed):
    """Codes and scales of another type for each seed, with gaps between them."""
    how = {"signed": seed % 2 == 0, "dtype": (torch.float16, torch.float32)[seed // 2 % 2]}
    return as_on_a_gpu(laid_apart(_case(2, 32, (5, 33, 96), 32, seed=seed, **how)))


def _run(answer, case, device):
    operands = case.x, case.packed, case.scales, case.zeros
    cut = case.config["BLOCK_K"], case.config["SPLIT_K"]
    how = case.group_size, *cut, device, case.interpreted_dtype
    sums = product_of(answer, splitk_scales_sums, *operands, *how)
    y = sums.sum(0)
    refuse_uneven_shares("splitk_scales", case, sums, y, expected(case, torch.float32)[0])
    if device == "cpu":
        check_on_cpu("splitk_scales", y, case)
    return y


SPLITK_SCALES = Exercise(
    name="splitk_scales",
    lesson="transposed",
    output="y",
    dtype=torch.float32,
    is_kernel=False,
    is_triton=True,
    compiled_cases=(1, 3),
    hints=(
        "Write down, for SPLIT_K = 3, which tile of K split 1 has in its turn 1, and in which "
        "group that tile lies. Then what the kernel makes of it.",
        "Two things are wrong with one line. Of which k does it compute the group: is that the k "
        "of x_ptrs and b_ptrs? And what is the quotient of: elements, or k?",
        "In this order: the tile that x_ptrs and b_ptrs have reached in this turn of a split; the "
        "k at which it begins; the group of that k, by //; and the stride last, so that a whole "
        "number is multiplied by it.",
    ),
    cases=_cases,
    fresh=partial(fresh, _fresh),
    expected=partial(expected, y_dtype=torch.float32),
    run=_run,
    traps={
        "stride_sg were 1, as with .T views": as_views,
        "SPLIT_K were 1": lambda case: replace(case, config=case.config | {"SPLIT_K": 1}),
    },
)
