"""`TernaryKernel`, a kernel of int8 activations and 2-bit weights, ready to be called."""

import torch

from gemlite_edu.kernels.machine import MAX_GRID_Y, SIMULATED_CAPABILITY
from gemlite_edu.kernels.ternary import TERNARY_KERNELS, Y_TYPES
from gemlite_edu.numbers.checks import (
    aligned,
    check_devices,
    check_inspectable,
    check_matrix,
    check_out,
    per_group,
    whole_tiles,
)
from gemlite_edu.packing.bitnet_2bit import TILE_K, TILE_N
from gemlite_edu.runners.kernel import LONGEST
from gemlite_edu.runners.kernel_text import KernelText, capability_of

_LONGEST_K = 2**31 // 256 - TILE_K  # |code - 2| is at most 2, |x| at most 128, and a sum is int32


class TernaryKernel:
    """A kernel of int8 x and 2-bit W with all that is compile-time decided. Made by `load`."""

    def __init__(self, name, y_dtype, fragment, replace, device, time_limit):
        self._kind = TERNARY_KERNELS[name]
        self.name, self.device = name, device
        self.y_dtype = _checked_y_dtype(name, y_dtype)
        self.fragment = _checked_fragment(name, fragment, self._kind.fragments)
        self._text = KernelText(name, self._kind.entry, replace, time_limit)
        self.source, self.replace = self._text.source, self._text.replace

    def __repr__(self):
        return f"TernaryKernel({self._title()}, device={self.device!r})"

    def _title(self):
        fragment = f", fragment={self.fragment}" if self.fragment else ""
        holes = f", replaces {', '.join(self.replace)}" if self.replace else ""
        return f"{self.name}, y_dtype={self.y_dtype}{fragment}{holes}"

    def __call__(self, x, W_packed, scales=None, *, token_scales=None, N=None, out=None):
        """`y[m, n] = token_scales[m] * scales[n] * sum_k (W_q[n, k] - 2) x[m, k]`.

        x: (M, K) int8. W_packed: int32 words of `pack_bitnet_2bit`. scales, token_scales: 1, a
        number, or float32 tensors (N,) or (N, 1), (M,) or (M, 1); both multiply; none where y is
        int32, which is the sum alone. N: how many outputs; None: all rows of W_packed, whose number
        is rounded up to 16. out: (M, N) of the kernel's y_dtype, to write into.
        Returns y (M, N). Sums are exact. Of 16 bits it is the sum as float32, times the product of
        its two factors, rounded: their product must not leave float32.

        On CUDA tensors it runs on their device's current stream, on CPU tensors in the simulator.
        x of a K that is no multiple of 32 is copied, with zeros behind it.
        Raises TypeError or ValueError for operands that do not fit.
        """
        tensors, plan = self._operands(x, W_packed, scales, token_scales, N)
        M, N = x.shape[0], plan.integers[1]
        if out is None:
            out = torch.empty(M, N, dtype=self.y_dtype, device=x.device)
        else:
            check_out(out, (M, N), self.y_dtype, x.device, tensors)
        if M:
            self._text.run(plan, tensors, out)
        return out

    def inspect(self, x, W_packed, scales=None, *, token_scales=None, N=None):
        """A `Report` of what the kernel does to memory with these operands, and of what is wrong.

        Operands as for a call, on the CPU; M at least 1. `report.y` is the output. What the kernel
        does wrong is in `report.findings`.
        """
        tensors, plan = self._operands(x, W_packed, scales, token_scales, N)
        check_inspectable(x)
        M, N, K = plan.integers
        title = f"{self._title()}, M = {M}, N = {N}, K = {K}"
        y = torch.empty(M, N, dtype=self.y_dtype, device="cpu")
        return self._text.inspect(plan, tensors, y, title, recorded="")

    def compile_for_simulator(self, M=1, N=TILE_N, K=TILE_K):
        """Path of the simulator's library for such shapes, compiled if it is not in the cache."""
        return self._text.build_for_simulator(self._plan(M, N, K))

    def compile_for_gpu(self, device, M=1, N=TILE_N, K=TILE_K):
        """The loaded library for such shapes on `device`, compiled if it is not in the cache."""
        return self._text.build_for_gpu(self._plan(M, N, K, capability_of(device)), device)

    def _plan(self, M, N, K, capability=SIMULATED_CAPABILITY):
        return self._kind.plan(M, N, K, self.y_dtype, capability, self.fragment)

    def _operands(self, x, W_packed, scales, token_scales, N):
        """({name: tensor}, the `Launch` for them, of one row where x has none), once all fit."""
        check_matrix("x", x, torch.int8)
        check_matrix("W", W_packed, torch.int32)
        check_devices(x, W_packed, self.device)
        M, K = x.shape
        N = _checked_shape(M, N, K, W_packed)
        if self.y_dtype == torch.int32 and not (scales is None and token_scales is None):
            raise ValueError(
                "y is int32, the sum alone: load with y_dtype=torch.float16 or torch.bfloat16 for "
                "scales, or leave them out"
            )
        plan = self._plan(max(M, 1), N, K + -K % TILE_K, capability_of(x.device))
        if plan.grid[1] > MAX_GRID_Y:
            most = MAX_GRID_Y * -(-M // plan.grid[1])
            raise ValueError(f"x has M = {M} rows, a launch takes {most}: split x by rows")
        tensors = {
            "x": aligned(whole_tiles(x, TILE_K)),
            "W": aligned(W_packed),
            "scales": factors("scales", scales, N, x.device),
            "token_scales": factors("token_scales", token_scales, M, x.device),
        }
        return tensors, plan


def _checked_y_dtype(name, y_dtype):
    y_dtype = torch.int32 if y_dtype is None else y_dtype
    if y_dtype not in Y_TYPES:
        takes = ", ".join(map(str, Y_TYPES))
        raise ValueError(f"y_dtype must be one of {takes} for {name}, got {y_dtype}")
    return y_dtype


def _checked_fragment(name, fragment, fragments):
    if fragments == (None,):
        if fragment is not None:
            raise ValueError(f"{name} multiplies without fragments: leave fragment out")
        return None
    fragment = "16x16x16" if fragment is None else fragment
    if fragment not in fragments:
        raise ValueError(
            f"fragment must be one of {', '.join(fragments)} (tokens x outputs x k), "
            f"got {fragment!r}"
        )
    return fragment


def _checked_shape(M, N, K, W_packed):
    """N, once it and K fit the words."""
    rows, columns = W_packed.shape
    expected = -(-K // TILE_K) * TILE_K // 16
    if rows % TILE_N or columns != expected:
        raise ValueError(
            f"x has K = {K}, for which W must be (N rounded up to {TILE_N}, {expected}) words of "
            f"pack_bitnet_2bit, got {tuple(W_packed.shape)}"
        )
    N = rows if N is None else N
    if not isinstance(N, int) or isinstance(N, bool) or not rows - TILE_N < N <= rows:
        fitting = f"from {rows - TILE_N + 1} to {rows}"
        raise ValueError(f"W has {rows} rows, so N must be {fitting}, got {N!r}")
    if K > _LONGEST_K or max(M, N) > LONGEST:
        raise ValueError(
            f"K may be up to {_LONGEST_K}, so that a sum fits into int32, and M and N up to "
            f"{LONGEST}, got {M}, {N} and {K}"
        )
    return N


def factors(name, value, count, device):
    """`value` as a float32 tensor (count, 1) on `device`; None is 1."""
    return per_group(name, 1.0 if value is None else value, (count, 1), torch.float32, device)
