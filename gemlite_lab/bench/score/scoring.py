"""`score_of`: from a kernel to its `Score`."""

import torch

from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.runners.kernel import Kernel
from gemlite_lab.bench.estimate import estimate, why_not
from gemlite_lab.bench.estimate.counts import in_simulator
from gemlite_lab.bench.estimate.record import calibration
from gemlite_lab.bench.operands import format_of, operands_of
from gemlite_lab.bench.problem import Problem
from gemlite_lab.bench.score.counts import counts_of
from gemlite_lab.bench.score.result import Score, room_for_instructions
from gemlite_lab.bench.score.right import refuse_wrong
from gemlite_lab.bench.score.rows import estimated_row, measured_row

_TAKEN = (*KERNELS, "gemv_a16wn_fast", "fused_gemv")


def score_of(kernel, N=4096, K=4096):
    """The `Score` of a call for one row of x and weights (N, K).

    The simulator runs the call, and counts; only a kernel that is right there reaches the GPU, if
    there is one. Raises `NoScore` for a wrong kernel, TypeError and ValueError for what `score`
    does not take.
    """
    problem = _problem(kernel, N, K)
    generator = torch.Generator().manual_seed(0)
    weights = problem.draw_weights(kernel.x_dtype, generator)
    x = problem.draw_x(kernel.x_dtype, generator)
    operands, simulated = operands_of(kernel, weights), in_simulator(kernel)
    report = simulated.inspect(x, *operands)
    refuse_wrong(kernel, report, x, weights, problem.product(x, weights))
    operations = None if why_not(kernel) else simulated.count_operations(x, *operands).all
    counts = counts_of(report, N * K, operations)
    estimated = estimate(kernel, N, K)
    on_gpu = torch.cuda.is_available() and kernel.device != "cpu"
    return Score(
        title=f"{kernel.name}, {problem.weights}, N = {N}, K = {K}",
        counts=counts,
        room=room_for_instructions(counts.least, N * K, calibration()[0]),
        estimated=estimated,
        row=measured_row(kernel, problem, counts.least)
        if on_gpu
        else estimated_row(kernel, problem, estimated, counts.least),
        is_measured=on_gpu,
    )


def _problem(kernel, N, K):
    if type(kernel) is not Kernel or kernel.name not in _TAKEN:
        came = getattr(kernel, "name", type(kernel).__name__)
        known = ", ".join(_TAKEN)
        raise TypeError(f"score takes a GEMV from load or one_row_kernel, {known}, got {came}")
    for name, size in {"N": N, "K": K}.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} must be an int of 1 or more, got {size!r}")
    weights = format_of(kernel)
    if not weights.divides(K):
        raise ValueError(f"K must be a multiple of the group size {weights.group_size}, got {K}")
    return Problem(weights, 1, N, K)
