"""Exercise of notebook 16: write attainable_tflops, the roofline."""

from dataclasses import dataclass

import torch

from gemlite_lab.bench import roofline
from gemlite_lab.checker.exercise import FLOAT32_ROUNDING, Exercise, number

_TOLERANCE = 1e-4


@dataclass(frozen=True)
class _Batches:
    """4-bit weights (N, K) in groups of 128, several M, and a card's two limits."""

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


def _right_tflops(M, case):
    per_byte = roofline.intensity(M, case.N, case.K, case.nbytes(M))
    return roofline.attainable_tflops(per_byte, case.read_gb_per_s, case.matmul_tflops)


def _expected(case):
    right = torch.tensor([_right_tflops(M, case) for M in case.Ms], dtype=torch.float64)
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
)
