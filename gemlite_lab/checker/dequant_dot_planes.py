"""Exercise of odd_widths: write dequant_dot, the hole of gemv_a16w3_planes."""

from functools import cache, partial

import torch

from gemlite_edu.packing import pack_3bit_planes
from gemlite_edu.runners.load import load
from gemlite_lab.checker.cases import exact_gemv, fresh, real_gemv
from gemlite_lab.checker.dequant_dot import expected
from gemlite_lab.checker.dequant_formats import linear
from gemlite_lab.checker.exercise import Exercise, run_watched
from gemlite_lab.checker.precise_cases import fine_gemv, precise_gemv
from gemlite_lab.checker.random_cases import random_gemv

_KERNEL = "gemv_a16w3_planes"
_HOLE = "dequant_dot"
_NBITS = 3


@cache
def _cases():
    shapes = ((33, 2300), (5, 1024), (2, 7))  # two tiles and a part of one, a tile, a part of one
    exact = [exact_gemv(_NBITS, *shape, seed) for seed, shape in enumerate(shapes)]
    exact += [precise_gemv(_NBITS, 33, 1100, seed=1), fine_gemv(_NBITS, seed=2)]
    return [*exact, real_gemv(_NBITS), random_gemv(_NBITS)]


def _fresh(seed):
    """Other numbers in the shape of the first case, and others of bfloat16 that almost cancel."""
    makes = (
        partial(exact_gemv, _NBITS, 33, 2300),
        partial(precise_gemv, _NBITS, 9, 1100, dtype=torch.bfloat16),
        partial(fine_gemv, _NBITS, dtype=torch.bfloat16),
    )
    return [case for make in makes for case in fresh(make, seed)]


def _run(answer, case, device):
    kernel = load(_KERNEL, None, case.x.dtype, {_HOLE: answer}, time_limit=10.0)
    operands = case.x, pack_3bit_planes(case.W_q), case.scales, case.zeros
    return run_watched(kernel, operands, device).half()


DEQUANT_DOT_PLANES = Exercise(
    name="dequant_dot_planes",
    lesson="odd_widths",
    output="y",
    dtype=torch.float16,
    is_kernel=True,
    hints=(
        "Take the two pieces of code 0 first, each by a shift and a mask: where do they lie in "
        "`word.low`, of 64 bits, and in `word.high`, of 32?",
        "Code 0 is at the top of both. A piece of `word.low` has two bits, a piece of `word.high` "
        "one, and the high bit of a code is worth 4.",
        "`word.low` is shifted by 62 - 2 * j, `word.high` by 31 - j; `|` joins the pieces. The x "
        "of code j is x[j * WARP_SIZE].",
    ),
    cases=_cases,
    fresh=_fresh,
    expected=partial(expected, linear("dequant_dot_planes", (_NBITS,))),
    run=_run,
)
