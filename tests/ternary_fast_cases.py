"""Cases for every way in which gemm_a8w2_fast cuts a product, for the simulator and a GPU.

Any two values of two factors meet in a case, as in `ternary_cases`.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import ternary_cases
from ternary_cases import BF16, EXTREMES, FAST, FP16, INT32, PLAIN, POWERS, RANDOM, UNALIGNED
from ternary_cases import rows_where_pairs_meet as pairwise

from gemlite_edu.kernels import ternary_fast
from gemlite_edu.kernels.machine import H200
from gemlite_edu.kernels.ternary_fast import _SHAPES, _SPLITS, _Cut

CUTS = [(tokens, *shape) for tokens, shapes in _SHAPES.items() for shape in shapes]


@dataclass(frozen=True)
class Case(ternary_cases.Case):
    """A case of gemm_a8w2_fast, with how its product is cut.

    cut: tokens of a tile, warpgroups, their tiles of 64 outputs, codes of a step. splits: blocks
    that share out K, on a GPU; the simulator has no clusters.
    """

    variant: tuple = (FAST, None)
    M: int = 17
    N: int = 33
    K: int = 544
    cut: tuple = CUTS[0]
    splits: int = 1

    @contextmanager
    def as_launched(self):
        """The product is cut as the case says."""

        def the_one_cut(M, K, largest_cluster):
            return [_Cut(*self.cut, min(self.splits, largest_cluster))]

        ternary_fast.plan_fast.cache_clear()
        with mock.patch.object(ternary_fast, "_cuts", the_one_cut):
            yield
        ternary_fast.plan_fast.cache_clear()


FACTORS = {
    "M": [1, 15, 33, 129, 300],
    "N": [1, 16, 33, 130, 260],
    "K": [1, 33, 544, 1000, 2100],
    "y_dtype": [INT32, FP16, BF16],
    "data": [RANDOM, EXTREMES],
    "scales": [POWERS],
    "memory": [PLAIN, UNALIGNED],
    "gives_N": [True, False],
    "cut": CUTS,
}
FACTORS_ON_A_GPU = FACTORS | {
    "M": [1, 7, 16, 33, 64, 100, 129, 300, 513],
    "N": [1, 16, 33, 130, 260, 1000, 4100],
    "K": [1, 33, 544, 1000, 2100, 4096, 11_008],
    "y_dtype": [INT32, FP16],
    "splits": _SPLITS,
}


def all_cases(factors, seed=0):
    """Every case; another seed combines the values otherwise."""
    return [Case(**row) for row in pairwise(factors, seed)]


CASES = all_cases(FACTORS)


def cases_for_a_gpu():
    """Every cut with every number of splits, and many shapes."""
    for cut in CUTS:
        for splits in _SPLITS:
            yield Case(M=cut[0] + 1, N=520, K=4096, y_dtype=FP16, cut=cut, splits=splits)
    yield from all_cases(FACTORS_ON_A_GPU)


def one_case_of_each_build(cases):
    """As few cases as need every library that `cases` need on a GPU."""
    return list({(case.cut, case.splits, case.y_dtype): case for case in cases}.values())


def plan_on_an_h200(M, N, K, y_dtype=INT32, machine=H200):
    """The `Plan` that the package makes, K rounded up to whole tiles."""
    return ternary_fast.plan_fast(M, N, -(-K // 32) * 32, y_dtype, machine)
