"""Exercise of roofline: write floor_us, the time that no kernel can beat."""

from dataclasses import dataclass, replace

import torch

from gemlite_lab.bench import roofline
from gemlite_lab.checker.alike_numbers import alike
from gemlite_lab.checker.exercise import FLOAT32_ROUNDING, Exercise, number

_TOLERANCE = 1e-4


@dataclass(frozen=True)
class _Layer:
    """Packed weights (N, K), and the read bandwidth of the card that holds them."""

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
        _Layer(8, 128, 512, 512, 936.2),
        _Layer(1, 5120, 1024, 32, 2039),
        _Layer(7, 8, 5, 5, 4000),  # rows of 35 bits
        _Layer(5, 16, 96, 96, 3350),
        _Layer(6, 8, 12, 4, 100),
        _Layer(7, 200000, 32000, 16, 50),
        _Layer(5, 24, 40, 40, 3350),  # rows of 25 bytes
        _Layer(3, 3, 5, 5, 20),  # 45 bits, which are no whole bytes
        *_that_differ_in_one_argument(_Layer(4, 1024, 2048, 64, 500)),
    ]


def _that_differ_in_one_argument(layer):
    """The layer, and for each argument one with another, so that none can be left out of a key."""
    others = {"nbits": 2, "N": 512, "K": 4096, "group_size": 128, "read_gb_per_s": 1500}
    return [layer, *(replace(layer, **{name: other}) for name, other in others.items())]


def _fresh(seed):
    generator = torch.Generator().manual_seed(seed)
    nbits, rows, groups, group_size, read_gb_per_s = (
        int(torch.randint(1, end, (), generator=generator)) for end in (9, 2000, 99, 200, 5000)
    )
    layer = _Layer(nbits, 8 * rows, groups * group_size, group_size, read_gb_per_s)
    base = _Layer(4, 1024, 2048, 64, 512)
    steps = {"nbits": 1, "N": 128, "K": 128, "group_size": 1, "read_gb_per_s": 1}
    others = (replace(base, **changed) for changed in alike(vars(base), steps))
    return [layer, base, *filter(_is_possible, others)]


def _is_possible(layer):
    return layer.nbits <= 8 and layer.K % layer.group_size == 0


def _expected(layer):
    nbytes = roofline.weight_bytes(layer.N, layer.K, layer.nbits, layer.group_size)
    right = number(roofline.floor_us(nbytes, layer.read_gb_per_s))
    return right, right * _TOLERANCE


def _run(answer, layer, device):
    us = answer(layer.N, layer.K, layer.nbits, layer.group_size, layer.read_gb_per_s)
    return number(us)


FLOOR_US = Exercise(
    name="floor_us",
    lesson="roofline",
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
    fresh=_fresh,
    expected=_expected,
    run=_run,
)
