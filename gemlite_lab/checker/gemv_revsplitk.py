"""Exercise of revsplitk: write the loop of gemv_revsplitk, given the rest of the kernel."""

from functools import cache, partial

import torch

from gemlite_edu.numbers.bounds import factored_error_bound
from gemlite_edu.numbers.reference import ScaledProduct
from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.chunk_shares import refuse_uneven_shares, with_a_row_for_each_tile
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.objections import object_to
from gemlite_lab.checker.tiled_cases import (
    BLOCK_N,
    added_atomically,
    exact_tiled,
    real_tiled,
    wide_tiled,
    with_more_rows,
)
from gemlite_lab.checker.triton_answers import product_of
from gemlite_lab.sandbox.triton_products import tiled_product

_NAME = "gemv_revsplitk"
_ONE_GROUP = ". Here all of K is one group, and GROUP is None"


@cache
def _cases():
    return [
        exact_tiled(4, 8, 64, N=33, K=320, chunks=3, M=2),  # a group is a pair
        exact_tiled(4, 8, None, N=33, K=224, chunks=3),  # of 4, 3 and no tiles
        exact_tiled(4, 8, 16, N=33, K=160, chunks=2),  # two groups in a tile
        exact_tiled(4, 8, 32, N=33, K=160),  # a group is a tile
        exact_tiled(4, 8, 96, N=33, K=288),  # a group is three tiles
        exact_tiled(4, 16, 256, N=33, K=512, chunks=2),  # a group is two pairs
        exact_tiled(4, 8, 192, N=9, K=384, chunks=3),  # a group is three pairs, in two chunks
        exact_tiled(4, 8, 64, N=33, K=128, is_fma=True),
        exact_tiled(3, 16, 256, N=9, K=512),
        real_tiled(word_bits=16, chunks=2),
        wide_tiled(4, 8, 64, N=33, K=64),
        exact_tiled(4, 16, None, N=2, K=8320),  # 130 tiles
        exact_tiled(4, 8, 64, N=2, K=2112, chunks=33),  # 33 groups, a pair of tiles in each chunk
        with_more_rows(exact_tiled(4, 8, None, N=1, K=32, M=2), 3),
        added_atomically(exact_tiled(4, 8, None, N=70, K=32)),
        *_of_every_path(),
        with_a_row_for_each_tile(exact_tiled(4, 8, 64, N=9, K=128, chunks=2), 32),
    ]


def _of_every_path():
    """Three tiles each: a pair and a tile left over, in one group or in groups of a tile."""
    return [
        exact_tiled(3, 16, 128, N=9, K=384, is_fma=True),
        exact_tiled(8, 8, 16, N=9, K=48),
        exact_tiled(8, 16, None, N=9, K=96, is_fma=True),
        exact_tiled(2, 8, 64, N=9, K=192, is_fma=True),
        exact_tiled(2, 8, None, N=9, K=192),
        exact_tiled(1, 8, 128, N=9, K=384),
        exact_tiled(1, 8, None, N=9, K=384),
    ]


def _fresh(seed):
    """Two groups, each of 1 to 8 pairs of tiles, in three chunks."""
    group_size = 64 * (1 + seed % 8)
    return exact_tiled(4, 8, group_size, N=9, K=2 * group_size, chunks=3, seed=seed)


def _expected(case):
    zeros, scales = case.zeros, case.scales
    given = ScaledProduct(case.x, case.W_q, scales=scales, zeros=zeros)
    right = given.exact()
    if case.is_exact:
        return right.float(), None
    return right, factored_error_bound(given, torch.float32)


def _run(answer, case, device):
    operands = case.x, case.weight, case.config, device, case.is_atomic
    y, loads, sums = product_of(answer, tiled_product, _NAME, _NAME, *operands)
    right, bound = _expected(case)
    refuse_uneven_shares(_NAME, case, sums, y, right)
    limit = _loads_needed(case)
    for name, times in loads.items():
        if times > limit and ((y - right).abs() <= (0 if bound is None else bound)).all():
            object_to(
                f"{_NAME} has the right numbers on {case.label}, but loads {name} "
                f"{times} times, where {limit} are enough: two tiles of a group need one "
                f"load{_ONE_GROUP if case.layout.group_size is None else ''}"
            )
    return y


def _loads_needed(case):
    """Loads of scales (and as many of zeros) in all programs, with one per pair in one group."""
    layout = case.layout
    tiles = layout.padded_K // layout.tile
    group = layout.padded_K if layout.group_size is None else layout.padded_group
    is_shared = layout.group_size is None or group % (2 * layout.tile) == 0
    of_a_tile = max(1, layout.tile // group)
    of_a_row = tiles // 2 + tiles % 2 if is_shared else tiles * of_a_tile
    return len(case.x) * -(-len(case.W_q) // BLOCK_N) * of_a_row


GEMV_REVSPLITK = Exercise(
    name=_NAME,
    lesson="revsplitk",
    output="y",
    dtype=torch.float32,
    is_kernel=False,
    is_triton=True,
    compiled_cases=(0, 1, 2),
    hints=(
        "Write down for K of 5 tiles which tiles each turn takes, and what is left over. Then the "
        "same for two chunks.",
        "In a turn load the words of both tiles. If GROUP % (2 * TILE) is 0, one products and one "
        "sum_x go through planes_sum twice, and through scaled once.",
        "Each tile has x of its own: x_ptrs + tile * TILE, and TILE further on for the second. "
        "Where the tiles are in different groups, tile_sum does all for one of them; so it does "
        "for a tile that is left over.",
    ),
    cases=_cases,
    fresh=partial(fresh, _fresh),
    expected=_expected,
    run=_run,
)
