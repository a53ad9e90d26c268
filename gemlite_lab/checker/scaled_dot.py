"""Exercises of groups: write scaled_dot, the group-wise kernel's hole; repair two."""

from dataclasses import replace
from functools import cache, partial

import torch

from gemlite_edu.numbers import bounds, reference
from gemlite_edu.packing import WarpInterleaved, pack_warped_int32
from gemlite_edu.runners.load import load
from gemlite_lab.checker import grouped_cases
from gemlite_lab.checker.cases import drawn, fresh
from gemlite_lab.checker.exercise import Exercise, run_watched
from gemlite_lab.checker.precise_cases import fine_grouped, precise_grouped
from gemlite_lab.checker.random_cases import long_grouped, random_grouped

_KERNEL = "gemv_a16wn_fp32"
_HOLE = "scaled_dot"
_SHAPES = {  # (nbits, group_size): (N, K); K is ragged except in the smallest
    (4, 41): (33, 615),  # 32 does not divide it, and k * (1.0f / 41) is another group
    (4, 32): (33, 608),
    (4, 64): (40, 704),
    (4, 128): (33, 640),
    (4, 320): (33, 960),  # longer than a tile, but not whole tiles
    (3, 64): (33, 704),
    (5, 96): (33, 480),  # three codes in a row share a group
    (5, 32): (33, 480),
    (5, 41): (33, 615),
    (2, 28): (33, 532),  # shorter than a warp
    (7, 43): (33, 129),
    (6, 32): (33, 288),
    (1, 110): (33, 1100),
    (4, 7): (2, 7),
    (4, 70): (2, 70),  # one group, of three codes of a lane
}
_OF_BUGS = (4, 32), (4, 64), (5, 32), (5, 41)
_OF_EVERY_WIDTH = tuple(shape for shape in _SHAPES if shape not in _OF_BUGS)
_OF_BFLOAT16 = 8, 128  # width and group size of the cases with bfloat16 x
_UNEVEN = (41, 55, 110)  # their reciprocals in float32 lead to other groups
_MOST_QUANTA = 2**13  # of an output of a case with drawn numbers
_SHORTER_THAN_A_WARP = (20, 28, 9)
_SHORTEST = 5  # seven groups, and an eighth, in the 32 codes of a step of a warp


def _cases(widths_and_groups):
    exact = [_exact_case(key, seed) for seed, key in enumerate(widths_and_groups)]
    precise = [precise_grouped(case, seed) for seed, case in enumerate(exact)]
    uneven = next(key for key in widths_and_groups if key[1] % 32)
    return [
        exact[0],
        *precise[2:],
        precise[0],
        grouped_cases.real_grouped(*_OF_BFLOAT16, x_dtype=torch.bfloat16),
        random_grouped(*uneven, N=33, K=2 * uneven[1]),
        random_grouped(uneven[0], _SHORTEST, N=33, K=61 * _SHORTEST),
        long_grouped(*_OF_BFLOAT16),
        grouped_cases.with_large_sums(exact[1]),
        grouped_cases.with_scales_of_0(exact[1]),
        *(fine_grouped(*key, seed) for seed, key in enumerate(_one_of_each_width(exact))),
        *(fine_grouped(*_OF_BFLOAT16, seed, torch.bfloat16, M=4) for seed in (0, 1)),
    ]


def _one_of_each_width(cases):
    """[(nbits, group size)]: the first of the cases of each width."""
    return {case.nbits: (case.nbits, case.group_size) for case in reversed(cases)}.values()


def _exact_case(width_and_group, seed):
    return grouped_cases.exact_grouped(*width_and_group, *_SHAPES[width_and_group], seed)


def _fresh(widths_and_groups, seed):
    """Other numbers in the shape of the first case; the widths without a case, or one below 8.

    Of four such widths one has groups shorter than a warp, one has groups longer than two tiles,
    and two have bfloat16 x, which the first case has too for half of the seeds.
    """
    known = {nbits for nbits, _ in (*widths_and_groups, _OF_BFLOAT16)}
    unknown = [nbits for nbits in range(1, 9) if nbits not in known]
    first, types = widths_and_groups[0], (torch.float16, torch.bfloat16)
    makes = [partial(_precise_case, *first, *_SHAPES[first], dtype=types[seed // 4 % 2])]
    for place, nbits in enumerate(drawn(unknown, 4, seed) or [1 + seed % 7], seed % 4):
        group_size = _drawn_group_size(nbits, place, seed)
        size = nbits, group_size, 3, 2 * group_size
        makes.append(partial(_precise_case, *size, dtype=types[place % 2]))
        makes.append(partial(fine_grouped, nbits, group_size, dtype=types[place % 2]))
    return [case for make in makes for case in fresh(make, seed)]


def _drawn_group_size(nbits, place, seed):
    third = seed // 8 % 3
    longer_than_two_tiles = 2 * WarpInterleaved(nbits).tile + _UNEVEN[third]
    of_place = _SHORTER_THAN_A_WARP[third], longer_than_two_tiles, _UNEVEN[third], _UNEVEN[third]
    return of_place[(place + seed // 24) % 4]


def _precise_case(nbits, group_size, N, K, seed, dtype=torch.float16):
    exact = grouped_cases.exact_grouped(nbits, group_size, N, K, seed, _MOST_QUANTA)
    return precise_grouped(exact, seed, dtype)


def _expected(case):
    W = (case.W_q.double() - case.zero_of_k) * case.scale_of_k
    right = reference.matmul(case.x, W)
    if case.is_exact:
        return right.to(case.x.dtype).half(), None
    return right, bounds.error_bound(case.x, W, case.x.dtype)


def _run(answer, case, device):
    kernel = load(
        _KERNEL,
        case.nbits,
        case.x.dtype,
        {_HOLE: answer},
        time_limit=10.0,
        group_size=case.group_size,
    )
    W_packed = pack_warped_int32(case.W_q, case.nbits)
    return run_watched(kernel, (case.x, W_packed, case.scales, case.zeros), device).half()


def _without_zeros(case):
    return replace(case, zeros=torch.zeros_like(case.zeros))


_ONE_GROUP = {
    "all groups of a row had the same scale and zero-point": grouped_cases.with_one_group_for_all
}


def _exercise(name, hints, widths_and_groups, traps):
    return Exercise(
        name=name,
        lesson="groups",
        output="y",
        dtype=torch.float16,
        is_kernel=True,
        hints=hints,
        cases=cache(lambda: _cases(widths_and_groups)),
        fresh=partial(_fresh, widths_and_groups),
        expected=_expected,
        run=_run,
        traps=traps,
    )


SCALED_DOT_EXERCISES = (
    _exercise(
        "scaled_dot",
        hints=(
            "Which k has code j of this word? Which group has that k?",
            "k is that of code 0, and each further code lies WARP_SIZE on. So the group changes "
            "inside the word, and must be found inside the loop.",
            "Go through the word in steps of CODES_PER_GROUP: group = (k + j * WARP_SIZE) / "
            "GROUP_SIZE, at most groups - 1; then scales[group] times dequant_dot of "
            "from_code(word, j), &x[j * WARP_SIZE] and zeros[group].",
        ),
        widths_and_groups=_OF_EVERY_WIDTH,
        traps=_ONE_GROUP,
    ),
    _exercise(
        "bug_2",
        hints=(
            "Take one weight: code 9, zero-point 8, scale 0.5. What should it be, and what is it?",
            "W ~ (W_q - zeros) * scales: in which units is the zero-point, those of codes or those "
            "of weights?",
            "The zero-point is a code. It has to be subtracted from the code, before the scale "
            "makes a weight of the difference.",
        ),
        widths_and_groups=((4, 64), (5, 41), (3, 64)),
        traps={"every zero-point were 0": _without_zeros},
    ),
    _exercise(
        "bug_3",
        hints=(
            "Print on paper the k of all codes of word 0, and the group of each, for groups of 64.",
            "The codes of a word are 32 apart in k. Can one group be right for all of them?",
            "The group belongs to a code: it must be computed inside the loop, from k and j, and "
            "so must the scale be multiplied there.",
        ),
        widths_and_groups=((4, 41), (5, 32), (4, 320), (3, 64)),
        traps={
            "each group were one whole tile": grouped_cases.with_groups_of_a_tile,
            **_ONE_GROUP,
        },
    ),
)
