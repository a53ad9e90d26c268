"""Exercise of tensor_cores: write mma_rows, a product on tensor cores whose fragments lanes load.

For each k, W or x has numbers of 11 bits and the other one of 6, and all numbers of a row have one
unit: every order of the additions gives the same sums.
"""

import torch

from gemlite_edu.runners.simulator.use_of_results import SHUFFLES
from gemlite_lab.checker.rare_numbers import among, scaled
from gemlite_lab.checker.small_kernels import SmallKernel
from gemlite_lab.lesson.mma import MMA

_ROWS_OF_A_WARP, _WARP_SIZE = 16, 32  # rows of W
_ROWS_OF_X = 8


_SUBNORMAL, _LARGEST = 2**-24, 2**5  # the units of such halves
_UNITS_OF_X = torch.tensor([1, 1, 1, _SUBNORMAL, 1, _LARGEST, 1, 1])


def _numbers(generator, rows, K, has_11_bits):
    """Whole numbers; some steps of 16 are all 0."""
    largest = torch.where(has_11_bits, 2047, 60)
    drawn = torch.randint(0, 2**31, (rows, K), generator=generator) % (2 * largest + 1) - largest
    return among(drawn, [0], run=16)


def _W(generator, N, K):
    drawn = _numbers(generator, N, K, torch.arange(K) % 3 == 0).double()
    drawn[_of_some_lanes(generator, N, K)] = 0
    drawn[_of_some_quarters(generator, N, K)] = 0
    return scaled(drawn, (_SUBNORMAL, _LARGEST), run=K).half()


def _of_some_lanes(generator, N, K):
    """(N, K) bool: where W belongs to lanes, one of eight, that have only zeros in a step."""
    n, k = torch.arange(N)[:, None], torch.arange(K)
    row, column = n // _ROWS_OF_A_WARP * 8 + n % 8, k // 16 * 4 + k % 8 // 2
    return (torch.rand(N, K, generator=generator) < 1 / 8)[row, column]


def _of_some_quarters(generator, N, K):
    """(N, K) bool: where W belongs to a register, one of eight, that is 0 in a whole warp."""
    row, column = torch.arange(N)[:, None] // 8, torch.arange(K) // 8
    return (torch.rand(N // 8, K // 8, generator=generator) < 1 / 8)[row, column]


def _x(generator, N, K):
    drawn = _numbers(generator, _ROWS_OF_X, K, torch.arange(K) % 3 != 0)
    return (drawn * _UNITS_OF_X[:, None]).half()


_KERNEL = SmallKernel(
    name="mma_rows",
    parameters="const half* W, const half* x, float* y, int N, int K",
    inputs={"W": _W, "x": _x},
    right=lambda W, x, N, K: x.float() @ W.float().T,
    launches=(
        (64, 96, 48),
        (32, 16, 16),
        (32, 64, 16),
        (32, 8336, 16),
        (128, 64, 272),
        (32, 16, 4128),
    ),
    blocks=lambda threads, N, K: -(-N // _ROWS_OF_A_WARP * _WARP_SIZE // threads),
    teaches="mma(",
    uses=SHUFFLES,
    header=MMA,
    fixed=f"M = {_ROWS_OF_X}, ",
    hints=(
        "Take lane 9: g = 2 and t = 1. Write down which rows of W and which k its a[0], a[1], a[2] "
        "and a[3] hold in the first step, then in the second.",
        "a[i]: the row is g, and 8 more if i is odd; k is 2 t, and 8 more if i is 2 or 3. b[i]: "
        "the row of x is g, for k as in a[0] and a[2]. To each k comes the step's first one.",
        "c has rows as a[0] and a[1] have: c[0] and c[1] lie in row g of W, c[2] and c[3] in row "
        "g + 8. The columns are rows of x, 2 t and 2 t + 1. A row of W is a column of y.",
    ),
)
MMA_ROWS = _KERNEL.exercise("tensor_cores")
