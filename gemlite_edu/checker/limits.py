"""Exercises of notebook 16: write floor_us and attainable_tflops, what no kernel can beat."""

from dataclasses import dataclass

import torch

from gemlite_edu import roofline
from gemlite_edu.checker.exercise import FLOAT32_ROUNDING, Exercise, number

_TOLERANCE = 1e-4


@dataclass(frozen=True)
class _Layer:
    """Packed weights (N, K) and the read bandwidth of the card that they are on."""

    nbits: int
    N: int
    K: int
    group_size: int
    read_gb_per_s: float

    @property
    def label(self):
        shape = f"{self.nbits}-bit, N = {self.N}, K = {self.K}, groups of {self.group_size}"
        return f"{shape}, {self.read_gb_per_s} GB/s"


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


def _layers():
    return [
        _Layer(3, 14336, 4096, 128, 1000),
        _Layer(2, 1000, 2048, 64, 320),
        _Layer(4, 4096, 4096, 128, 4250),
        _Layer(8, 128, 512, 512, 936),
        _Layer(1, 5120, 1024, 32, 2039),
    ]


def _batches():
    return [
        _Batches(14336, 14336, (1, 16, 256, 16384), 100, 500),
        _Batches(1024, 8192, (1, 8, 64, 2048), 320, 65),
        _Batches(14336, 4096, (1, 2, 512, 4096), 4000, 700),
    ]


def _bounded(right):
    return right, right * _TOLERANCE


def _code_bytes(layer):
    return layer.N * layer.K * layer.nbits / 8


def _pair_bytes(layer):
    return layer.N * layer.K / layer.group_size * 4


def _time(codes=_code_bytes, pairs=_pair_bytes, us_per_byte=lambda gb_per_s: 1e-3 / gb_per_s):
    """The mistake of counting other bytes, or of taking other microseconds for a byte."""

    def output(layer):
        us = (codes(layer) + pairs(layer)) * us_per_byte(layer.read_gb_per_s)
        return number(us)

    return output


def _inverted(layer):
    return number(1 / _time()(layer).item())


def _expected_floor(layer):
    nbytes = roofline.weight_bytes(layer.N, layer.K, layer.nbits, layer.group_size)
    return _bounded(number(roofline.floor_us(nbytes, layer.read_gb_per_s)))


def _run_floor(answer, layer, device):
    us = answer(layer.N, layer.K, layer.nbits, layer.group_size, layer.read_gb_per_s)
    return number(us)


FLOOR_US = Exercise(
    name="floor_us",
    notebook="16_benchmarks",
    output="microseconds",
    dtype=torch.float64,
    is_kernel=False,
    tolerance=f"{_TOLERANCE:.2%}",
    mistake_tolerance=FLOAT32_ROUNDING,
    hints=(
        "Count bytes first: those of the codes, and those of what each group has besides.",
        "A row has K / group_size groups, and each has two 16-bit numbers.",
        "1 GB/s is 1e9 bytes in 1e6 microseconds: how many bytes in one microsecond?",
    ),
    cases=_layers,
    expected=_expected_floor,
    run=_run_floor,
    mistakes={
        "the bits of the codes are counted as bytes": _time(lambda c: c.N * c.K * c.nbits),
        "each code takes 2 bytes, as an unquantized weight does": _time(lambda c: c.N * c.K * 2),
        "each code takes 1 byte, as an unpacked one does": _time(lambda c: c.N * c.K),
        "a code takes 8 / nbits bytes; it is nbits / 8": _time(lambda c: c.N * c.K * 8 / c.nbits),
        "a byte holds 8 // nbits whole codes, so that 3-bit codes leave bits idle": _time(
            lambda c: c.N * c.K / (8 // c.nbits)
        ),
        "a 32-bit word holds 32 // nbits whole codes, so that 3-bit codes leave bits idle": _time(
            lambda c: c.N * c.K / (32 // c.nbits) * 4
        ),
        "the codes are forgotten: only scales and zeros are counted": _time(codes=lambda c: 0),
        "scales and zeros are forgotten": _time(pairs=lambda c: 0),
        "only the scales are counted, not the zeros": _time(pairs=lambda c: _pair_bytes(c) / 2),
        "scales and zeros take 4 bytes each; in fp16 it is 2": _time(
            pairs=lambda c: _pair_bytes(c) * 2
        ),
        "scales and zeros take 16 bytes each; it is 16 bits": _time(
            pairs=lambda c: _pair_bytes(c) * 8
        ),
        "scales and zeros take nbits each, as the codes do": _time(
            pairs=lambda c: _pair_bytes(c) * c.nbits / 16
        ),
        "there is one scale and one zero per row, whatever group_size is": _time(
            pairs=lambda c: c.N * 4
        ),
        "a row has group_size groups; it has K / group_size": _time(
            pairs=lambda c: c.N * c.group_size * 4
        ),
        "the groups of one row are counted, not those of all N": _time(
            pairs=lambda c: _pair_bytes(c) / c.N
        ),
        "a GB is taken as 2**30 bytes; in GB/s it is 1e9": _time(
            us_per_byte=lambda gb_per_s: 1e6 / (gb_per_s * 2**30)
        ),
        "the time is in nanoseconds": _time(us_per_byte=lambda gb_per_s: 1 / gb_per_s),
        "the time is in milliseconds": _time(us_per_byte=lambda gb_per_s: 1e-6 / gb_per_s),
        "the time is in seconds": _time(us_per_byte=lambda gb_per_s: 1e-9 / gb_per_s),
        "the bytes are multiplied by the bandwidth instead of divided by it": _time(
            us_per_byte=lambda gb_per_s: gb_per_s * 1e3
        ),
        "the bandwidth is divided by the bytes instead of the bytes by it": _inverted,
    },
)


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


def _run_tflops(answer, case, device):
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
    expected=lambda case: _bounded(_of_each_M(lambda M: _right_tflops(M, case), case)),
    run=_run_tflops,
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
