"""Integer GEMVs on which every wrong kernel fails.

They are as in `cases`, and reach the largest possible sums: a row of W has only top codes and the
zero 0, the next one only codes 0 and the top code as zero, and both meet an x that is -128
throughout. The other zeros range over all codes. Each seed gives the rows to other warps, because
all zeros of one warp may be small.
"""

from dataclasses import dataclass

import torch

from gemlite_lab.checker import cases

_M = 3


@dataclass(frozen=True)
class IntegerGemvCase:
    """Codes W_q (N, K), scales and zeros (N, 1) int32, x (M, K) int8: y is exact."""

    label: str
    nbits: int
    W_q: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    x: torch.Tensor
    is_exact: bool = True


def integer_gemv(nbits, N, K, seed):
    """An `IntegerGemvCase`; N of 3 or more."""
    generator = torch.Generator().manual_seed(seed)
    top = 2**nbits - 1
    extremes = torch.tensor([[top], [0]], dtype=torch.uint8).expand(2, K)
    W_q = torch.cat([extremes, cases.codes(nbits, N - 2, K, seed).W_q])
    rows = torch.arange(N, dtype=torch.int32).reshape(N, 1)
    zeros = rows * (top // 3 | 1) % (top + 1)
    zeros[1] = top
    W_q, zeros = (rows_of.roll(-7 * seed, 0) for rows_of in (W_q, zeros))
    x = torch.randint(-128, 128, (_M, K), dtype=torch.int8, generator=generator)
    x[0] = -128
    x[1:, 0] = 127
    label = f"{nbits}-bit, M = {_M}, N = {N}, K = {K}"
    return IntegerGemvCase(label, nbits, W_q, rows % 3 + 1, zeros, x)


def right_output(case):
    """y (M, N) int64."""
    sums = case.x.long() @ (case.W_q.long() - case.zeros.long()).T
    return sums * case.scales.T
