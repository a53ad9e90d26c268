"""Group-wise low-bit GEMVs on which a kernel that takes a wrong group gives a wrong y.

They are exact: codes, zeros and x are small integers and scales powers of two, so every partial sum
in fp32 is exact in any order, and a right kernel matches bit for bit. They are telling: no two
groups of a row have the same pair of scale and zero, neighbouring rows differ in both, every k
meets a non-zero x, and outputs stay below 2**11 quanta, so that fp16 hides no mistake.
"""

from dataclasses import dataclass, replace

import torch

from gemlite_edu.numbers.quantize import quantize_linear
from gemlite_edu.packing import WarpInterleaved
from gemlite_lab.checker.cases import BEYOND_HALF, exact_gemv
from gemlite_lab.lesson.real_layer import real_layer

_FEWEST_TILES = 4  # where each tile is one group
_QUANTUM = 1 / 16
_MAX_QUANTA = 2**11  # fp16 is exact up to this
_FREE_ROW, _LARGE_X = 1, 2.0**15  # the row of x that k = 0, 1 and 2 do not meet otherwise


@dataclass(frozen=True)
class GroupedCase:
    """One GEMV: codes W_q (N, K), scales and zeros (N, K // group_size), x (M, K) 16-bit."""

    label: str
    nbits: int
    group_size: int
    W_q: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    x: torch.Tensor
    is_exact: bool

    @property
    def scale_of_k(self):
        """(N, K) float64: the scale of every code."""
        return self.scales.double().repeat_interleave(self.group_size, dim=1)

    @property
    def zero_of_k(self):
        """(N, K) float64: the zero-point of every code."""
        return self.zeros.double().repeat_interleave(self.group_size, dim=1)


def exact_grouped(nbits, group_size, N, K, seed, max_quanta=_MAX_QUANTA):
    """A `GroupedCase` with exact inputs. Raises AssertionError if a wrong kernel could pass it.

    max_quanta: up to so many the type of y is exact.
    """
    plain = exact_gemv(nbits, N, K, seed)
    x = _signs(plain.x, max(16, 2**nbits))
    n, g = torch.arange(N).view(-1, 1), torch.arange(K // group_size)
    case = GroupedCase(
        _label(nbits, group_size, len(x), N, K),
        nbits,
        group_size,
        plain.W_q,
        2.0 ** ((2 * n + 3 * g) % 5) * _QUANTUM,
        ((7 * n + 3 * g + 1) % 2**nbits).float(),
        x,
        is_exact=True,
    )
    _check_outputs(case, max_quanta)
    return case


def with_large_sums(case):
    """The exact case with sums beyond the range of fp16, which some lanes have and y has not.

    Where k is 0, 1 and 2, W has equal codes, and one row of x has large numbers that add up to 0.
    """
    x, W_q = case.x.clone(), case.W_q.clone()
    assert not x[_FREE_ROW, :3].any()
    x[_FREE_ROW, :3] = torch.tensor([_LARGE_X, -_LARGE_X / 2, -_LARGE_X / 2])
    W_q[:, 1:3] = W_q[:, :1]
    large = replace(case, label=f"{case.label}, fp32 sums beyond 65504", W_q=W_q, x=x)
    _check_outputs(large, _MAX_QUANTA)
    weights = (W_q[:, 0] - case.zero_of_k[:, 0]) * case.scale_of_k[:, 0]
    assert (weights.abs() * _LARGE_X).max() > torch.finfo(torch.float16).max, large.label
    return large


def with_scales_of_0(case):
    """The exact case with the scale 0 in the first group of every second row."""
    scales = case.scales.clone()
    scales[::2, 0] = 0
    return replace(case, label=f"{case.label}, some scales 0", scales=scales)


def _check_outputs(case, max_quanta):
    weights = (case.W_q.double() - case.zero_of_k) * case.scale_of_k
    quanta = case.x.double() @ weights.T / _QUANTUM
    assert quanta.abs().max() < max_quanta, f"{case.label}: outputs are not exact"


def with_rows(case, M):
    """The case with its rows of x summed into M rows; M must divide their number."""
    N, K = case.W_q.shape
    label = _label(case.nbits, case.group_size, M, N, K)
    return replace(case, label=label, x=case.x.reshape(-1, M, K).sum(0))


def _label(nbits, group_size, M, N, K):
    return f"{nbits}-bit, groups of {group_size}, M = {M}, N = {N}, K = {K}"


def _signs(x, M):
    """The signs of x, spread over M rows so that each k is non-zero in exactly one row."""
    k = torch.arange(x.shape[1])
    rows = torch.zeros(M, len(k), dtype=x.dtype)
    rows[k * 11 % M, k] = x.sum(0).sign()
    return rows


def real_grouped(nbits=4, group_size=128, N=200, tokens=4, x_dtype=torch.float16):
    """A `GroupedCase` of N outputs of a real layer with its real activations."""
    layer = real_layer("ffn_up")
    q = quantize_linear(layer.weight[:N], nbits, group_size)
    factor = BEYOND_HALF if x_dtype == torch.bfloat16 else 1.0
    x = layer.activations[:tokens].to(x_dtype) * factor
    label = f"real layer (ffn_up of MiniLM), {nbits}-bit, groups of {group_size}"
    label += f", M = {tokens}, N = {N}" + ", bfloat16" * (x_dtype == torch.bfloat16)
    return GroupedCase(label, nbits, group_size, q.W_q, q.scales / factor, q.zeros, x, False)


def with_one_group_for_all(case):
    """The case in which every group of a row has the scale and zero-point of the first."""
    return replace(
        case,
        scales=case.scales[:, :1].expand_as(case.scales).contiguous(),
        zeros=case.zeros[:, :1].expand_as(case.zeros).contiguous(),
    )


def with_groups_of_a_tile(case):
    """The whole tiles of the case, each of them one group; without any, the case as one group.

    Few tiles come several times, so that no group is right by being the last.
    """
    tile = WarpInterleaved(case.nbits).tile
    group_size = min(tile, case.W_q.shape[1])
    K = case.W_q.shape[1] // group_size * group_size
    times = -(-_FEWEST_TILES * tile // K) if K >= tile else 1
    groups = torch.arange(times * K // group_size) % case.scales.shape[1]
    return replace(
        case,
        group_size=group_size,
        W_q=case.W_q[:, :K].repeat(1, times),
        scales=case.scales[:, groups].contiguous(),
        zeros=case.zeros[:, groups].contiguous(),
        x=case.x[:, :K].repeat(1, times),
    )
