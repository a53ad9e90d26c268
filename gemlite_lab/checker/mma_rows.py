"""Exercise of tensor_cores: write mma_rows, a product on tensor cores whose fragments lanes load.

The numbers are small and whole, so that every order of the additions gives the same sums.
"""

import torch

from gemlite_lab.checker.small_kernels import SmallKernel
from gemlite_lab.lesson.mma import MMA

_ROWS_OF_A_WARP, _WARP_SIZE = 16, 32  # rows of W
_ROWS_OF_X = 8


def _halves(generator, rows, K):
    return torch.randint(-60, 61, (rows, K), generator=generator).half()


_KERNEL = SmallKernel(
    name="mma_rows",
    parameters="const half* W, const half* x, float* y, int N, int K",
    inputs={
        "W": lambda generator, N, K: _halves(generator, N, K),
        "x": lambda generator, N, K: _halves(generator, _ROWS_OF_X, K),
    },
    right=lambda W, x, N, K: x.float() @ W.float().T,
    launches=((64, 96, 48), (32, 16, 16), (32, 64, 16), (128, 64, 272), (96, 48, 1040)),
    blocks=lambda threads, N, K: -(-N // _ROWS_OF_A_WARP * _WARP_SIZE // threads),
    teaches="mma(",
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
