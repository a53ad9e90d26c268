"""Cases for the GEMV at the memory limit and their right answers, for the simulator and a GPU.

Any two values of two factors meet in a case (Kuhn, Kacker and Lei 2010, NIST SP 800-142).
"""

import random
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from unittest import mock

import torch
import triton_cases
from ternary_cases import PLAIN, SLICED, T_VIEW, UNALIGNED, integers, laid_out, with_text
from ternary_cases import rows_where_pairs_meet as pairwise

from gemlite_edu import load
from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.kernels.fast_weights import FastWeights
from gemlite_edu.kernels.machine import SIMULATED, TURING, Machine
from gemlite_edu.numbers.bounds import parts_error_bound
from gemlite_edu.numbers.reference import ScaledProduct
from gemlite_edu.numbers.weight_modes import ChannelScaleMode, WeightMode
from gemlite_edu.runners import kernel as kernel_module

FAST = "gemv_a16wn_fast"
FP16, BF16 = torch.float16, torch.bfloat16
EXACT, RANDOM, EXTREMES = "exact", "random", "extremes"
MIDDLE, CODES, FRACTIONS = "middle", "codes", "fractions"

# (compute capability, multiprocessors) that a launch is planned for. Few multiprocessors: blocks of
# many tiles. Little memory: rows of x take turns, and so do tiles.
MANY_BLOCKS, FEW_BLOCKS = SIMULATED, SIMULATED._replace(multiprocessors=2)
LITTLE_MEMORY = Machine(TURING, 1)

_MOST_NOT_ZERO = 4096  # of an exact row of x: sums are to be exact in float32
LARGEST_OFFSET = {
    8: 0,
    7: 128,
    6: 64,
    5: 256,
    4: 64,
    3: 128,
    2: 256,
    1: 256,
}  # of codes in the texts
LARGEST_ERROR = {FP16: 1e-3, BF16: 2**-8}  # of y, norm-wise


@dataclass(frozen=True)
class Case:
    """Widths, shapes, and what kind of numbers the kernel meets.

    least_K: K is so many, in whole groups. data: of x, codes and scales. memory: how x and the
    words lie in memory. machine: that the launch is planned for.
    """

    nbits: int
    M: int
    N: int
    least_K: int
    group_size: int | None = 128
    x_dtype: torch.dtype = FP16
    zeros: str = CODES
    data: str = EXACT
    memory: str = PLAIN
    machine: Machine = MANY_BLOCKS

    def load(self, **options):
        """The kernel of this case."""
        return load(FAST, self.nbits, self.x_dtype, group_size=self.group_size, **options)

    def as_planned(self):
        """Calls are launched as the case says."""
        return launched_as_on(self.machine)

    def plan(self, device="cpu"):
        """What the kernel decides for this case."""
        with self.as_planned():
            return self.load().plan(self.M, self.N, self.K, torch.device(device))

    def build(self):
        """A text that differs where the library does."""
        return str(self.plan().product.defines)

    def inputs(self, x, W_q, scales, zeros):
        """The `Inputs` of these tensors."""
        return Inputs(x, W_q, scales, zeros)

    def error_bound(self, product):
        """Largest error of an honest kernel: (M, N) float64."""
        weights = FastWeights(self.nbits, self.group_size)
        offset = LARGEST_OFFSET[self.nbits]
        return parts_error_bound(product, self.x_dtype, part=weights.part, offset=offset)

    def is_near(self, error, exact):
        """Whether no row of y is too far off, norm-wise."""
        return bool((error.norm(dim=1) <= self.largest_error * exact.norm(dim=1)).all())

    @property
    def largest_error(self):
        """Of y, norm-wise."""
        return LARGEST_ERROR[self.x_dtype]

    @property
    def K(self):
        """Columns of x."""
        return self.groups * (self.group_size or self.least_K)

    @property
    def groups(self):
        """Of a row."""
        return -(-self.least_K // (self.group_size or self.least_K))

    def __str__(self):
        told = [f"{self.nbits}bit-M{self.M}-N{self.N}-K{self.K}-g{self.group_size}"]
        for field in fields(self)[5:]:
            value = getattr(self, field.name)
            if value != field.default:
                told.append(f"{field.name}={value}".replace("torch.", ""))
        return "-".join(told)


FACTORS = {
    "nbits": [8, 7, 6, 5, 4, 3, 2, 1],
    "M": [1, 2, 11],
    "N": [1, 33, 124],
    "least_K": [1, 100, 1100],
    "group_size": [None, 16, 32, 128, 512],
    "x_dtype": [FP16, BF16],
    "zeros": [MIDDLE, CODES, FRACTIONS],
    "data": [EXACT, RANDOM, EXTREMES],
    "memory": [PLAIN, T_VIEW, SLICED, UNALIGNED],
    "machine": [MANY_BLOCKS, FEW_BLOCKS],
}
FACTORS_ON_A_GPU = FACTORS | {
    "M": [1, 2, 3, 4, 5, 8, 9, 17],
    "N": [1, 16, 33, 300, 1020],
    "group_size": [None, 16, 32, 64, 128, 512],
    "least_K": [8, 1000, 4096, 11008, 14340],
    "machine": [MANY_BLOCKS, FEW_BLOCKS, LITTLE_MEMORY],
}


THREE_TILES = [  # a warp computes so many
    Case(8, 5, 85, 1100, 64, machine=FEW_BLOCKS),
    Case(4, 1, 92, 6200, machine=FEW_BLOCKS),
    Case(4, 3, 85, 1100, 64, BF16, FRACTIONS, machine=FEW_BLOCKS),
    Case(2, 4, 81, 1500, machine=FEW_BLOCKS),
    Case(1, 2, 96, 2000, None, BF16, machine=FEW_BLOCKS),
]


def all_cases(factors, seed=0):
    """Every case; another seed combines the values otherwise."""
    cases = [Case(**row) for row in pairwise(factors, seed)]
    cases += [Case(4, 8, 100, 3000, machine=LITTLE_MEMORY), Case(8, 3, 40, 1100, 512)]
    return cases + THREE_TILES


CASES = all_cases(FACTORS, seed=35)  # each mistake of the tests shows in two of them at least


def cases_for_a_gpu():
    """Each build with several numbers, shapes and places in memory."""
    for case in all_cases(FACTORS_ON_A_GPU) + all_cases(FACTORS_ON_A_GPU, seed=1):
        yield case
        for data in (EXACT, RANDOM, EXTREMES):
            yield replace(case, N=case.N + 5, data=data, memory=PLAIN)


def one_case_of_each_build(cases):
    """As few cases as need every library that `cases` need."""
    return list({case.build(): case for case in cases}.values())


def compile_for_gpu(case):
    """The library of a case, in the cache."""
    device = torch.device("cuda", torch.cuda.current_device())
    with case.as_planned():
        case.load().compile_for_gpu(device, case.M, case.N, case.K + -case.K % 8)


@contextmanager
def launched_as_on(machine):
    """Launches as on such a machine."""
    with mock.patch.object(kernel_module, "machine_of", lambda device: machine):
        yield


@dataclass(frozen=True)
class Inputs:
    """x, codes, and scales and zeros (N, groups), float32 with values of float16; on the CPU."""

    x: torch.Tensor
    W_q: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor

    def operands(self, case, kernel, device="cpu"):
        """Arguments of the `kernel` of `case`, on `device`."""
        packed = kernel.pack(*(tensor.to(device) for tensor in self.to_pack()))
        tensors = zip(("W", "scales", "zeros"), packed, strict=True)
        given = {"x": self.x.to(device)} | dict(tensors)
        return {name: _laid_out(tensor, case.memory) for name, tensor in given.items()}

    def to_pack(self):
        """What `pack` takes."""
        return self.W_q, self.scales, self.zeros

    def product(self, case):
        """The `ScaledProduct`, with a scale and a zero for every code."""
        group = torch.arange(case.K) // (case.group_size or case.K)
        return ScaledProduct(self.x, self.W_q, self.scales[:, group], self.zeros[:, group])


def _laid_out(tensor, memory):
    return laid_out(tensor.flatten(1), memory).unflatten(1, tensor.shape[1:])


def make_case(case, seed=0):
    """The `Inputs` of a case."""
    generator = torch.Generator().manual_seed(seed)
    top, shape = 2**case.nbits - 1, (case.N, case.groups)
    W_q = integers(0, top, (case.N, case.K), generator)
    if case.data == EXTREMES:  # in every other row the top code alone
        W_q = torch.where(2 * W_q > top, top, 0)
        W_q[::2] = top
    x, scales = _numbers(case, shape, generator)
    return case.inputs(x.to(case.x_dtype), W_q.byte(), scales, _zeros(case, shape, generator))


def _numbers(case, shape, generator):
    """x, and scales that no two neighbours have alike; powers of two where y is to be exact."""
    size = (case.M, case.K)
    if case.data == RANDOM:
        x = torch.randn(size, generator=generator)
        if case.x_dtype == BF16:  # beyond what float16 holds
            x *= 2.0 ** integers(-60, 60, (case.M, 1), generator)
        scales = (0.5 + torch.rand(shape, generator=generator)) / 2**case.nbits
        return x, scales.half().float()
    below = integers(1, 2, shape, generator).float()
    if case.data == EXTREMES:
        signs = 2 * integers(0, 1, (case.M, 1), generator) - 1
        x = (2.0**15 if case.x_dtype == FP16 else 2.0**100) * signs.expand(size)
        return x, 2.0 ** (-(case.K * (2**case.nbits - 1)).bit_length() - below)
    kept = torch.rand(size, generator=generator) < _MOST_NOT_ZERO / case.K
    rows = integers(-3, 0, (case.N, 1), generator)
    return integers(-2, 2, size, generator) * kept, 2.0 ** (rows - case.nbits - below)


def _zeros(case, shape, generator):
    top = 2**case.nbits - 1
    if case.zeros == MIDDLE:
        return torch.full(shape, float(top + 1) / 2)
    whole = integers(0, top, shape, generator).float()
    if case.zeros == FRACTIONS and case.data != EXTREMES:
        return (whole - 0.5).clamp(min=0.5)
    return whole


def is_right(case, inputs, y):
    """Whether y is the one right answer, or as near to it as an honest kernel comes."""
    y, product = y.cpu(), inputs.product(case)
    if y.dtype != case.x_dtype or y.shape != (case.M, case.N):
        return False
    exact = product.exact()
    if case.data != RANDOM:
        return torch.equal(y, exact.to(y.dtype))
    error = y.double() - exact
    return case.is_near(error, exact) and bool((error.abs() <= case.error_bound(product)).all())


def run(case, inputs, device="cpu", kernel=None):
    """y of the kernel, written over what nobody may see again."""
    kernel = kernel or case.load()
    with case.as_planned():
        return kernel(**inputs.operands(case, kernel, device), out=poison(case, device))


def poison(case, device="cpu"):
    """y before it is written."""
    return torch.full((case.M, case.N), torch.nan, dtype=case.x_dtype, device=device)


def inspect(case, kernel=None):
    """(report, inputs) of a run under the simulator's instruments."""
    inputs, kernel = make_case(case), kernel or case.load()
    with case.as_planned():
        return kernel.inspect(**inputs.operands(case, kernel)), inputs


def gets_it_wrong(case, right, wrong):
    """Whether y shows that mistake."""
    inputs = make_case(case)
    try:
        return not is_right(case, inputs, run(case, inputs, kernel=with_text(case, right, wrong)))
    except KernelFault:
        return True


# What a layer has

_FACTORS_OF_A_LAYER = {
    "weights": [8, 4, 2, 1],
    "x_dtype": [FP16, BF16],
    "y_dtype": [FP16, BF16, torch.float32],
    "mode": list(WeightMode),
    "channel_mode": list(ChannelScaleMode),
    "bias": [False, True],
    "M": [1, 3, 8, 11],
    "N": [1, 17, 100],
    "K_and_group": [(1000, None), (33, None), (256, 32), (640, 64), (1024, 128), (1536, 512)],
    "scale_dtype": [torch.float32, FP16, BF16],
    "zeros": [triton_cases.CODES, triton_cases.BEYOND, triton_cases.FRACTIONS],
}
_MANY = 400


def cases_of_a_layer(count):
    """Cases of `triton_cases` that GEMV_FAST takes, in which as many different pairs meet."""
    return draw_unlike(_FACTORS_OF_A_LAYER, case_of_a_layer, count)


def draw_unlike(factors, case_of, count):
    """So many of the cases of rows drawn from the factors, as unlike each other as there are."""
    choose = random.Random(0)
    rows = [{name: choose.choice(factors[name]) for name in factors} for _ in range(_MANY)]
    return triton_cases.unlike(list(map(case_of, rows)), count)


def case_of_a_layer(row):
    """The case of `triton_cases` of a row, with numbers of which y is exact."""
    if row["weights"] == 8 and (row["zeros"] != triton_cases.CODES or BF16 in row.values()):
        row |= {"zeros": triton_cases.CODES, "scale_dtype": torch.float32}  # or z s is rounded
    word_bits = 16 if row["weights"] == 1 else 32
    return triton_cases.example("gemv", **row, word_bits=word_bits)
