"""Exercise of roofline: write attainable_tflops, the roofline."""

from dataclasses import dataclass, replace

import torch

from gemlite_lab.bench import roofline
from gemlite_lab.checker.alike_numbers import alike
from gemlite_lab.checker.exercise import FLOAT32_ROUNDING, Exercise, number

_TOLERANCE = 1e-4
_MOST_SHOWN = 4
_MANY_MS = (1, 2, 4, 8, 16, 32, 64, 128, 512, 1024, 2048, 4096, 65536)


@dataclass(frozen=True)
class _Batches:
    """Weights (N, K) in groups of 128, several M, and a card's two limits.

    fixed_bytes: the bytes that a product moves, if they are not those of such weights.
    """

    N: int
    K: int
    Ms: tuple[int, ...]
    read_gb_per_s: float
    matmul_tflops: float
    nbits: int = 4
    fixed_bytes: int | None = None

    @property
    def label(self):
        Ms = ", ".join(map(str, self.Ms))
        if len(self.Ms) > _MOST_SHOWN:
            Ms = f"{self.Ms[0]} to {self.Ms[-1]}"
        limits = f"{self.read_gb_per_s} GB/s, {self.matmul_tflops} TFLOP/s"
        nbytes = f"{self.fixed_bytes} bytes" if self.fixed_bytes else f"{self.nbits} bits"
        return f"M = {Ms} with N = {self.N}, K = {self.K}, {nbytes}, {limits}"

    def nbytes(self, M):
        return self.fixed_bytes or roofline.least_bytes(M, self.N, self.K, self.nbits, 128)


def _batches():
    return [
        _Batches(14336, 14336, (1, 16, 256, 16384), 100, 500),
        _Batches(1024, 8192, (1, 8, 64, 2048), 320, 65),
        _Batches(14336, 4096, (1, 2, 512, 4096), 4000, 700),
        _Batches(1, 128, (1, 3), 1000, 500, nbits=8),
        _Batches(512, 256, (1, 7, 100000), 2039, 312, nbits=2),
        _Batches(4096, 11008, (1, 600, 601), 50, 3, nbits=16),
        _Batches(4096, 4096, tuple(range(40, 140)), 1008.5, 302.5),  # around the knee
        _Batches(4096, 4096, _MANY_MS, 8000, 1),  # the arithmetic is the limit for each M
        _Batches(4096, 4096, _MANY_MS, 20, 2000),  # the memory is, with the same operations
        _Batches(
            1, 1, (1, 2), 20, 2000, fixed_bytes=60
        ),  # a wrong unit leaves the memory the limit
        *_that_differ_in_one_argument(_Batches(512, 1024, (1, 512), 300, 30, fixed_bytes=900_000)),
    ]


def _that_differ_in_one_argument(case):
    """The case, and for each argument one with another, so that none can be left out of a key."""
    others = {"N": 256, "K": 2048, "fixed_bytes": 5_000_000}
    others |= {"read_gb_per_s": 200, "matmul_tflops": 20}
    return [case, *(replace(case, **{name: other}) for name, other in others.items())]


def _fresh(seed):
    generator = torch.Generator().manual_seed(seed)
    N, groups, M, more, read_gb_per_s, matmul_tflops, nbits = (
        int(torch.randint(1, end, (), generator=generator))
        for end in (9000, 99, 20, 5000, 5000, 1000, 9)
    )
    drawn = _Batches(N, 128 * groups, (M, M + more), read_gb_per_s, matmul_tflops, nbits)
    return [drawn, *_with_alike_arguments()]


def _with_alike_arguments():
    """Cases of one M in which two arguments have the same sum or product as in the first one."""
    base = _Batches(512, 1024, (64,), 300, 30, fixed_bytes=900_000)
    names = "N", "K", "read_gb_per_s", "matmul_tflops", "fixed_bytes"
    own = {name: getattr(base, name) for name in names} | {"M": 64}
    found = [base]
    for other in alike(own, dict.fromkeys(own, 1)):
        M = other.pop("M", 64)
        found.append(replace(base, Ms=(M,), **other))
    return found


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
    lesson="roofline",
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
    fresh=_fresh,
    expected=_expected,
    run=_run,
)
