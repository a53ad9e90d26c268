"""Exercise of notebook 16: write floor_us, the time that no kernel can beat."""

from dataclasses import dataclass

import torch

from gemlite_lab.bench import roofline
from gemlite_lab.checker.exercise import FLOAT32_ROUNDING, Exercise, number

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


def _layers():
    return [
        _Layer(3, 14336, 4096, 128, 1000),
        _Layer(2, 1000, 2048, 64, 320),
        _Layer(4, 4096, 4096, 128, 4250),
        _Layer(8, 128, 512, 512, 936),
        _Layer(1, 5120, 1024, 32, 2039),
    ]


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


def _expected(layer):
    nbytes = roofline.weight_bytes(layer.N, layer.K, layer.nbits, layer.group_size)
    right = number(roofline.floor_us(nbytes, layer.read_gb_per_s))
    return right, right * _TOLERANCE


def _run(answer, layer, device):
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
    expected=_expected,
    run=_run,
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
