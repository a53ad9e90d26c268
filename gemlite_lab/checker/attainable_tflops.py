"""Exercise of notebook 16: write attainable_tflops, the roofline."""

from dataclasses import dataclass

import torch

from gemlite_lab.bench import roofline
from gemlite_lab.checker.exercise import FLOAT32_ROUNDING, Exercise, number

_TOLERANCE = 1e-4


@dataclass(frozen=True)
class _Batches:
    """4-bit weights (N, K) in groups of 128, several M, and the two limits of a card."""

    N: int
    K: int
    Ms: tuple[int, ...]
    read_gb_per_s: float
    matmul_tflops: float

    @property
    def label(self):
        Ms = ", ".join(map(str, self.Ms))
        limits = f"{self.read_gb_per_s} GB/s, {self.matmul_tflops} TFLOP/s"
        return f"M = {Ms} with N = {self.N}, K = {self.K}, {limits}"

    def nbytes(self, M):
        return roofline.least_bytes(M, self.N, self.K, 4, 128)


def _batches():
    return [
        _Batches(14336, 14336, (1, 16, 256, 16384), 100, 500),
        _Batches(1024, 8192, (1, 8, 64, 2048), 320, 65),
        _Batches(14336, 4096, (1, 2, 512, 4096), 4000, 700),
    ]


def _per_byte(M, case):
    return 2 * M * case.N * case.K / case.nbytes(M)


def _roofs(per_byte=_per_byte, memory=1.0, combine=min):
    """The mistake of another intensity, another memory roof, or no minimum of the two roofs.

    memory: a factor on the memory roof.
    """

    def output(case):
        def tflops(M):
            limit = per_byte(M, case) * case.read_gb_per_s * memory / 1e3
            return combine(limit, case.matmul_tflops)

        return _of_each_M(tflops, case)

    return output


def _scaled(factor):
    return lambda case: _of_each_M(lambda M: _right_tflops(M, case) * factor, case)


def _of_each_M(tflops, case):
    return torch.tensor([tflops(M) for M in case.Ms], dtype=torch.float64)


def _right_tflops(M, case):
    per_byte = roofline.intensity(M, case.N, case.K, case.nbytes(M))
    return roofline.attainable_tflops(per_byte, case.read_gb_per_s, case.matmul_tflops)


def _expected(case):
    right = _of_each_M(lambda M: _right_tflops(M, case), case)
    return right, right * _TOLERANCE


def _run(answer, case, device):
    limits = case.read_gb_per_s, case.matmul_tflops
    found = [number(answer(M, case.N, case.K, case.nbytes(M), *limits)) for M in case.Ms]
    return None if any(tflops is None for tflops in found) else torch.stack(found)


ATTAINABLE_TFLOPS = Exercise(
    name="attainable_tflops",
    notebook="16_benchmarks",
    output="tflops",
    dtype=torch.float64,
    is_kernel=False,
    tolerance=f"{_TOLERANCE:.2%}",
    mistake_tolerance=FLOAT32_ROUNDING,
    hints=(
        "How many operations does one output need, and how many outputs are there?",
        "The memory allows (operations per byte) times (bytes per second); "
        "the arithmetic allows matmul_tflops.",
        "GB/s times operations per byte is GFLOP/s. Of two limits the lower one holds.",
    ),
    cases=_batches,
    expected=_expected,
    run=_run,
    mistakes={
        "the higher of the two limits is taken": _roofs(combine=max),
        "only the limit of the memory is taken": _roofs(combine=lambda memory, compute: memory),
        "only the limit of the arithmetic is taken": _roofs(
            combine=lambda memory, compute: compute
        ),
        "the two limits are added": _roofs(combine=lambda memory, compute: memory + compute),
        "the times of reading and of computing are added, as if they did not overlap": _roofs(
            combine=lambda memory, compute: 1 / (1 / memory + 1 / compute)
        ),
        "a product and its sum are counted as one operation": _roofs(
            lambda M, case: _per_byte(M, case) / 2
        ),
        "the bytes are divided by the operations; it is operations per byte": _roofs(
            lambda M, case: 1 / _per_byte(M, case)
        ),
        "the operations of one row of x are counted, not those of all M": _roofs(
            lambda M, case: _per_byte(M, case) / M
        ),
        "the limit of the memory is in GFLOP/s, that of the arithmetic in TFLOP/s": _roofs(
            memory=1e3
        ),
        "the limit of the memory is a thousand times too low: 1 TFLOP/s is 1e3 GFLOP/s": _roofs(
            memory=1e-3
        ),
        "nbytes is taken as bits, and divided by 8": _roofs(memory=8.0),
        "a GB is taken as 2**30 bytes; in GB/s it is 1e9": _roofs(memory=2**30 / 1e9),
        "the result is in GFLOP/s": _scaled(1e3),
        "the result is in FLOP/s": _scaled(1e12),
    },
)
