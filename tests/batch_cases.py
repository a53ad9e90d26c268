"""Cases for the product for batches and their right answers, for the simulator and a GPU.

Any two values of two factors meet in a case, as in `fast_cases`.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from unittest import mock

import fast_cases
import torch
import triton_cases
from fast_cases import (
    CODES,
    EXACT,
    EXTREMES,
    FEW_BLOCKS,
    FP16,
    FRACTIONS,
    MANY_BLOCKS,
    MIDDLE,
    RANDOM,
)
from many_rows_bound import many_rows_error_bound
from ternary_cases import PLAIN, SLICED, T_VIEW, UNALIGNED
from ternary_cases import rows_where_pairs_meet as pairwise

from gemlite_edu import load
from gemlite_edu.kernels import gemm_fast
from gemlite_edu.kernels.fast_weights import FastWeights, Types
from gemlite_edu.kernels.gemm_fast import _SHAPES, _Cut, _may_be_even
from gemlite_edu.numbers.bounds import parts_error_bound
from gemlite_edu.numbers.weight_modes import ChannelScaleMode, WeightMode
from gemlite_edu.runners import kernel as kernel_module

BATCH = "gemm_a16wn_fast"
_ROWS_OF_MMA = 16
_LARGEST_TYPES = Types(FP16, FP16)  # with scales and zeros in float32


@dataclass(frozen=True)
class Case(fast_cases.Case):
    """A case of the fast GEMV, with how the product is cut.

    rows: of x in a block. width: the place of its shape among those for so many rows, or beyond
    them for the last. splits: blocks that share out K for a tile. is_even: if their shape allows
    it, they form no cluster; with one split, blocks share out the steps of all tiles.
    """

    rows: int = 16
    width: int = 0
    splits: int = 1
    is_even: bool = False

    def load(self, **options):
        """The kernel of this case."""
        return load(BATCH, self.nbits, group_size=self.group_size, **options)

    def as_planned(self):
        """Products are cut as the case says."""
        return _cut_as(self)

    def machine_of(self, device):
        """The machine, whose GPU alone has clusters."""
        return self.machine._replace(largest_cluster=4 if device.type == "cuda" else 1)

    def cut(self, largest_cluster=1):
        """The `_Cut`, where clusters have so many blocks at most."""
        shapes = _SHAPES[self.rows]
        shape = shapes[min(self.width, len(shapes) - 1)]
        if self.is_even and _may_be_even(self.rows, *shape):
            steps = self.K // FastWeights(self.nbits).step
            return _Cut(self.rows, *shape, min(self.splits, steps), is_even=True)
        return _Cut(self.rows, *shape, min(self.splits, largest_cluster))

    def fits(self):
        """True if a block with these weights fits, in a cluster and without."""
        weights = FastWeights(self.nbits, self.group_size)
        cuts = [replace(self, is_even=is_even).cut() for is_even in (False, True)]
        return all(cut.fits(_LARGEST_TYPES, weights) for cut in cuts)

    def build(self):
        """A text that differs where the library does."""
        return str(self.plan("cuda").product.defines)

    def error_bound(self, product):
        """Of few rows scales meet sums; of more they make weights, as `many_rows_error_bound`."""
        if self.rows == _ROWS_OF_MMA:
            part = FastWeights(self.nbits, self.group_size).part
            offset = 1024 >> (8 - self.nbits)  # that the text leaves on codes
            return parts_error_bound(product, FP16, part=part, offset=offset)
        return many_rows_error_bound(product, FP16)

    def is_near(self, error, exact):
        """Weights are rounded to fp16: of many rows of few outputs, one is further off than y."""
        return bool(error.norm() <= self.largest_error * exact.norm())


@contextmanager
def _cut_as(case):
    def the_one_cut(M, largest_cluster):
        return [case.cut(largest_cluster)]

    gemm_fast.plan_gemm.cache_clear()
    machine = mock.patch.object(kernel_module, "machine_of", case.machine_of)
    with machine, mock.patch.object(gemm_fast, "_cuts", the_one_cut):
        yield
    gemm_fast.plan_gemm.cache_clear()


FACTORS = {
    "nbits": [8, 7, 6, 5, 4, 3, 2, 1],
    "M": [1, 15, 33, 70],
    "N": [8, 64, 136],
    "least_K": [256, 512, 768],
    "group_size": [None, 32, 64, 128, 512],
    "zeros": [MIDDLE, CODES, FRACTIONS],
    "data": [EXACT, RANDOM, EXTREMES],
    "memory": [PLAIN, T_VIEW, SLICED, UNALIGNED],
    "rows": [16, 32, 64, 128, 256],
    "width": [0, 1, 2, 3],
}
# More steps than stages, with several groups of warps and with one.
LONG_CASES = [
    Case(4, 9, 64, 2560, rows=16),
    Case(2, 20, 128, 2048, rows=64, width=1),
    Case(8, 40, 64, 512, rows=256),
]
# Two tiles a warp where wgmma multiplies.
TWO_TILE_CASES = [
    Case(8, 180, 264, 512, group_size=64, zeros=CODES, rows=176),
    Case(6, 70, 136, 512, group_size=128, zeros=FRACTIONS, data=RANDOM, rows=176),
    Case(4, 33, 520, 768, group_size=32, zeros=FRACTIONS, data=RANDOM, memory=SLICED, rows=176),
    Case(2, 70, 264, 1024, group_size=64, data=EXTREMES, memory=T_VIEW, rows=176),
    Case(1, 15, 136, 512, memory=UNALIGNED, rows=176),
]
# A block begins and ends within tiles, with whole ones between, and takes more steps than it has
# stages; several blocks share a tile, three of them each tile of the last case.
SHARED_CASES = [
    Case(4, 70, 264, 1024, rows=64, width=1, is_even=True, machine=FEW_BLOCKS),
    Case(8, 20, 72, 512, rows=32, is_even=True),
    Case(4, 70, 264, 1024, rows=64, width=1, splits=3, is_even=True),
]
# One row of y is further off here than all of y may be.
FEW_OUTPUTS = Case(4, 33, 8, 256, data=RANDOM, rows=64)
FACTORS_ON_A_GPU = FACTORS | {
    "M": [1, 3, 7, 16, 24, 48, 100, 129, 300],
    "N": [8, 136, 1000, 4104],
    "least_K": [512, 1536, 4096, 11008],
    "splits": [1, 2, 4],
    "is_even": [False, True],
    "machine": [MANY_BLOCKS, FEW_BLOCKS],
}


def all_cases(factors, seed=0):
    """Every case; another seed combines the values otherwise."""
    for row in pairwise(factors, seed):
        yield one_that_fits(Case(**row))


def one_that_fits(case):
    """The case, with a block of fewer rows or another width where its own does not fit."""
    fewer = [rows for rows in reversed(_SHAPES) if rows <= case.rows]
    blocks = [(rows, width) for rows in fewer for width in (case.width, 1, 2, 0)]
    return next(
        found
        for found in (replace(case, rows=rows, width=width) for rows, width in blocks)
        if found.fits()
    )


# With this seed, a case fails for every mistake that test_batch_kernel.py plants in the text.
_WHOLE_TILES = [*all_cases(FACTORS, seed=44), *LONG_CASES, *TWO_TILE_CASES, FEW_OUTPUTS]
# Of three cases, many blocks share out the steps of all tiles of one, two blocks those of another.
CASES = [
    replace(case, is_even=i % 3 > 0, machine=(MANY_BLOCKS, FEW_BLOCKS)[i % 3 == 2])
    for i, case in enumerate(_WHOLE_TILES)
] + SHARED_CASES


def cases_for_a_gpu():
    """Every way to cut a product, with many numbers and shapes."""
    yield from all_cases(FACTORS_ON_A_GPU)
    yield from all_cases(FACTORS_ON_A_GPU, seed=1)
    for nbits in (8, 4):
        for rows, shapes in _SHAPES.items():
            for width in range(len(shapes)):
                for splits, machine in ((1, MANY_BLOCKS), (2, FEW_BLOCKS), (4, MANY_BLOCKS)):
                    cut = dict(rows=rows, width=width, splits=splits, machine=machine)
                    yield Case(nbits, rows + 1, 520, 4096, **cut)
                    if splits < 4:  # many blocks to a tile, and many tiles to a block
                        yield Case(nbits, rows + 1, 520, 4096, **cut | dict(is_even=True))
    for nbits in (7, 6, 5, 3, 2, 1):
        for rows, shapes in _SHAPES.items():
            for width in range(len(shapes)):
                case = Case(nbits, rows + 1, 520, 4096, rows=rows, width=width)
                if case.fits():
                    yield replace(case, splits=2, machine=FEW_BLOCKS)
                    yield replace(case, is_even=True)


# The shapes of models, cut as the package cuts them: (N, K, M, nbits), in groups of 128


def one_shape_of_each_build(shapes):
    """As few shapes as need every library that `shapes` need on this GPU."""
    return list({str(_planned(shape).product.defines): shape for shape in shapes}.values())


def compile_shape(shape):
    """The library of a shape, in the cache."""
    N, K, M, nbits = shape
    load(BATCH, nbits, group_size=128).compile_for_gpu(_this_gpu(), M, N, K)


def _planned(shape):
    N, K, M, nbits = shape
    return load(BATCH, nbits, group_size=128).plan(M, N, K, _this_gpu())


def _this_gpu():
    return torch.device("cuda", torch.cuda.current_device())


# What a layer has

_FACTORS_OF_A_LAYER = {
    "weights": [8, 4, 2],
    "y_dtype": [FP16, torch.bfloat16, torch.float32],
    "mode": list(WeightMode),
    "channel_mode": list(ChannelScaleMode),
    "bias": [False, True],
    "M": [1, 9, 30, 65],
    "N": [8, 72],
    "K_and_group": [(256, None), (256, 32), (768, 64), (1024, 128), (1536, 512)],
    "scale_dtype": [torch.float32, FP16, torch.bfloat16],
    "zeros": [triton_cases.CODES, triton_cases.BEYOND, triton_cases.FRACTIONS],
}


def cases_of_a_layer(count):
    """Cases of `triton_cases` that GEMM_FAST takes, in which as many different pairs meet."""
    return fast_cases.draw_unlike(_FACTORS_OF_A_LAYER, _case_of_a_layer, count)


def _case_of_a_layer(row):
    # Else weights are rounded: 8-bit codes less zeros with 9 digits, scales with 8 of their own.
    exact = {"zeros": triton_cases.CODES, "scale_dtype": torch.float32}
    row = row | exact if row["weights"] == 8 else row
    return triton_cases.example("gemm", **row, word_bits=32)
