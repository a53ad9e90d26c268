"""Products of int8 x and 2-bit codes on which every wrong kernel fails, and how to run them."""

from dataclasses import dataclass

import torch

from gemlite_edu.kernels.machine import SIMULATED
from gemlite_edu.kernels.ternary import TERNARY_KERNELS
from gemlite_edu.packing import pack_bitnet_2bit
from gemlite_edu.runners.load import load

GEMV, GEMM = "gemv_a8w2_dp4a", "gemm_a8w2_wmma"
_TIME_LIMIT = 10.0


@dataclass(frozen=True)
class TernaryCase:
    """A product by `kernel`: W_q (N, K) with all four codes, and x (M, K) int8; y is exact."""

    label: str
    kernel: str
    W_q: torch.Tensor
    x: torch.Tensor
    is_exact: bool = True

    @property
    def K(self):
        return self.x.shape[1]


def random_case(kernel, M, N, K, seed):
    """A `TernaryCase` of random codes and nonzero x; the first token is -128 throughout."""
    generator = torch.Generator().manual_seed(seed)
    W_q = torch.randint(0, 4, (N, K), dtype=torch.uint8, generator=generator)
    x = torch.randint(-128, 127, (M, K), generator=generator)
    x += x >= 0
    x[0] = -128
    label = f"{kernel}, M = {M}, N = {N}, K = {K}"
    return TernaryCase(label, kernel, W_q, x.to(torch.int8))


def right_output(case):
    """y (M, N) int64."""
    return case.x.long() @ (case.W_q.long() - 2).T


def run_in_hole(hole, answer, case, device):
    """(y (M, N) int64, or None if the run was stopped; the simulator's findings).

    On the CPU the simulator checks every access; a GPU checks none.
    """
    kernel = load(case.kernel, replace={hole: answer}, time_limit=_TIME_LIMIT)
    W_packed, N = pack_bitnet_2bit(case.W_q), len(case.W_q)
    if device != "cpu":
        out = torch.full((len(case.x), N), -(2**31), dtype=torch.int32, device=device)
        y = kernel(case.x.to(device), W_packed.to(device), N=N, out=out)
        return y.cpu().long(), ()
    report = kernel.inspect(case.x, W_packed, N=N)
    return None if report.y is None else report.y.long(), report.findings


def plan_of_gemm(M, N, K, fragment):
    """How the simulator launches gemm_a8w2_wmma."""
    spec = TERNARY_KERNELS[GEMM].completed(fragment=fragment)
    return spec.plan(M, N, K, SIMULATED).product
