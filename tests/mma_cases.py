"""Cases for the product by mma.sync and their right answers, for the simulator and a GPU.

They are those of the fast GEMV with more rows: both kernels read the same operands.
"""

from dataclasses import dataclass
from itertools import cycle, islice

import fast_cases
import torch
import triton_cases
from fast_cases import BF16, FEW_BLOCKS, FP16, MANY_BLOCKS
from ternary_cases import rows_where_pairs_meet as pairwise

from gemlite_edu import load
from gemlite_edu.kernels.machine import Machine
from gemlite_edu.numbers.weight_modes import ChannelScaleMode, WeightMode

MMA = "gemm_a16wn_mma"

# Many multiprocessors share out K, one does not. Little memory: fewer steps at once, or fewer rows.
A100, RTX_4090 = Machine((8, 0), 108), Machine((8, 9), 128)
ONE_BLOCK = MANY_BLOCKS._replace(multiprocessors=1)


@dataclass(frozen=True)
class Case(fast_cases.Case):
    """A case of the fast GEMV for this product."""

    def load(self, **options):
        """The kernel of this case."""
        return load(MMA, self.nbits, self.x_dtype, group_size=self.group_size, **options)

    def build(self):
        """A text that differs where the libraries do."""
        return str([launch.defines for launch in self.plan().launches])

    def is_near(self, error, exact):
        """Of many rows of few outputs, one may be further off than y."""
        return bool(error.norm() <= self.largest_error * exact.norm())


FACTORS = fast_cases.FACTORS | {
    "M": [1, 20, 40, 70],
    "N": [1, 33, 140],
    "group_size": [None, 16, 64, 512],
    "machine": [MANY_BLOCKS, FEW_BLOCKS, RTX_4090],
}
# More steps than stages, in one block and in several.
LONG_CASES = [
    Case(4, 9, 140, 1280, machine=ONE_BLOCK),
    Case(8, 20, 140, 2560, 64, BF16, machine=FEW_BLOCKS),
]


def all_cases(factors, seed=0):
    """Every case; another seed combines the values otherwise."""
    return [Case(**row) for row in pairwise(factors, seed)]


CASES = [*all_cases(FACTORS), *LONG_CASES]

# On a GPU each build takes nvcc many seconds: few of them, each with many numbers and shapes.
_FACTORS_OF_A_BUILD = {
    "nbits": FACTORS["nbits"],
    "x_dtype": FACTORS["x_dtype"],
    "group_size": [None, 32, 128],
    "M": [16, 32, 48, 64],
    "machine": [MANY_BLOCKS, A100, ONE_BLOCK],
}
_MORE_BUILDS = [
    dict(nbits=8, x_dtype=BF16, group_size=16, M=64, machine=A100),
    dict(nbits=5, x_dtype=FP16, group_size=16, M=32, machine=MANY_BLOCKS),
    dict(nbits=4, x_dtype=FP16, group_size=512, M=64, machine=MANY_BLOCKS),
    dict(nbits=7, x_dtype=FP16, group_size=None, M=64, machine=RTX_4090),
]
_FACTORS_OF_NUMBERS = {
    "fewer_rows": [0, 1, 7],
    "N": [1, 33, 300, 1100],
    "least_K": [1000, 4096, 11008],  # which all share out K, or none does
    "zeros": FACTORS["zeros"],
    "data": FACTORS["data"],
    "memory": FACTORS["memory"],
}


def cases_for_a_gpu():
    """A few cases of each build."""
    numbers = cycle(pairwise(_FACTORS_OF_NUMBERS, 0))
    builds = [*pairwise(_FACTORS_OF_A_BUILD, 0), *_MORE_BUILDS]
    for build in builds:
        for row in islice(numbers, 4):
            own = {name: value for name, value in row.items() if name != "fewer_rows"}
            yield Case(**build | own | {"M": build["M"] - row["fewer_rows"]})


# What a layer has

_FACTORS_OF_A_LAYER = {
    "weights": [8, 4, 2, 1],
    "x_dtype": [FP16, BF16],
    "y_dtype": [FP16, BF16, torch.float32],
    "mode": list(WeightMode),
    "channel_mode": list(ChannelScaleMode),
    "bias": [False, True],
    "M": [9, 18, 33, 65],
    "N": [1, 17, 100],
    "K_and_group": [(1000, None), (33, None), (256, 32), (640, 64), (1024, 128), (1536, 512)],
    "scale_dtype": [torch.float32, FP16, BF16],
    "zeros": [triton_cases.CODES, triton_cases.BEYOND, triton_cases.FRACTIONS],
}


def cases_of_a_layer(count):
    """Cases of `triton_cases` that GEMM_MMA takes, in which as many different pairs meet."""
    return fast_cases.draw_unlike(_FACTORS_OF_A_LAYER, fast_cases.case_of_a_layer, count)
