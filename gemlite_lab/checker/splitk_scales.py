"""Exercise of notebook 13: repair splitk_scales, which reads its scales from wrong places.

It is a forward product whose splits take turns along K. As it ships, it multiplies by the stride of
the scales before it divides by GROUP, and forgets the split; the first case does not show that.
"""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.numbers import reference
from gemlite_edu.operators.triton_product import triton_dtype
from gemlite_edu.runners.triton import launch, replaced
from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.int4_cases import as_views, exact_int4

_BLOCK_M, _BLOCK_N = 16, 32
_SPARE = 6  # so that most wrong rows of scales exist, and differ from the right ones


def _case(splits, block_k, shape, group_size, *views, **how):
    config = {"SPLIT_K": splits, "BLOCK_K": block_k}
    return exact_int4(shape, group_size, config, views, spare=_SPARE, **how)


@cache
def _cases():
    return [
        _case(1, 32, (3, 40, 288), 96, "b", "scales"),  # what a published test covers
        _case(3, 32, (3, 40, 384), 64, "b"),
        _case(2, 32, (5, 33, 288), 96, signed=True),  # 5 tiles and 4
        _case(4, 32, (17, 40, 384), 96, "b", "scales", dtype=torch.float16),
        _case(5, 32, (3, 40, 96), 32, "scales"),  # two splits have no tile
    ]


def _fresh(seed):
    return _case(3, 32, (3, 40, 384), 64, "b", seed=seed)


def splitk_scales_product(
    kernel, x, packed, scales, zeros, group_size, block_k, splits, device="cpu"
):
    """y (M, N) float32 of an answer on the grid (N / 32, M / 16, splits), summed over splits.

    On the CPU the interpreter checks every access. Elements that the answer never stores are NaN.
    """
    is_interpreted = device == "cpu"
    tensors = x, packed, scales, zeros = [t.to(device) for t in (x, packed, scales, zeros)]
    M, N = len(x), packed.shape[1]
    partial = torch.full((splits, M, N), torch.nan, device=device)
    launch(
        replaced("mixed_mm", is_interpreted, {"mixed_mm": kernel}), is_interpreted,
        (-(-N // _BLOCK_N), -(-M // _BLOCK_M), splits), *tensors, partial, M, N, x.shape[1],
        *packed.stride(), *scales.stride(), GROUP=group_size, SPLIT_K=splits,
        DTYPE=triton_dtype(torch.float32 if is_interpreted else x.dtype), BLOCK_M=_BLOCK_M,
        BLOCK_N=_BLOCK_N, BLOCK_K=block_k, watched=is_interpreted,
    )  # fmt: skip
    return partial.sum(0).cpu()


def _run(answer, case, device):
    operands = case.x, case.packed, case.scales, case.zeros
    cut = case.config["BLOCK_K"], case.config["SPLIT_K"]
    return splitk_scales_product(answer, *operands, case.group_size, *cut, device)


SPLITK_SCALES = Exercise(
    name="splitk_scales",
    notebook="13_mixed_mm",
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
    expected=lambda case: (reference.matmul(case.x, case.W).float(), None),
    run=_run,
    traps={
        "stride_sg were 1, as with .T views": as_views,
        "SPLIT_K were 1": lambda case: replace(case, config=case.config | {"SPLIT_K": 1}),
    },
)
