"""Cases for the kernels of ternary weights and their right answers, for the simulator and a GPU.

Any two values of two factors meet in a case of int32 sums, and in a case of scaled ones (Kuhn,
Kacker and Lei 2010, NIST SP 800-142).
"""

import random
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import combinations, product
from unittest import mock

import torch

from gemlite_edu import load, pack_bitnet_2bit
from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.kernels.machine import SIMULATED
from gemlite_edu.numbers import bounds
from gemlite_edu.numbers.bounds import FP32_ROUNDOFF
from gemlite_edu.packing import FRAGMENTS
from gemlite_edu.runners import kernel as kernel_module

GEMV, GEMM, FAST = "gemv_a8w2_dp4a", "gemm_a8w2_wmma", "gemm_a8w2_fast"
INT32, FP16, BF16 = torch.int32, torch.float16, torch.bfloat16
VARIANTS = [(GEMV, None), *((GEMM, fragment) for fragment in FRAGMENTS), (FAST, None)]

RANDOM, EXTREMES = "random", "extremes"
POWERS, ORDINARY, WIDE = "powers", "ordinary", "wide"
NUMBER, FLAT, COLUMN = "number", "flat", "column"
PLAIN, T_VIEW, SLICED, UNALIGNED = "plain", "transposed", "sliced", "unaligned"
LITTLE_SHARED_MEMORY = (7, 5)

# Exponents of both scales. WIDE: y is beyond its type or below its smallest number, here and there,
# and a product of two scales is a normal number of float32.
_EXPONENTS = {FP16: (-24, 16), BF16: (-60, 62)}
_ROUNDINGS = 3  # of a sum to float32, of the product of its scales, of their product with it


@dataclass(frozen=True)
class Case:
    """A kernel (name, fragment), shapes, and what kind of numbers it meets.

    M, N, K: x has M rows of K, W N. y_dtype: INT32 is the sum alone. data: of x and the codes.
    scales, form: of both scales. memory: how x, W and the scales lie in memory.
    gives_N: else y has all rows of W_packed. capability: the launch is as on such a device.
    """

    variant: tuple
    M: int
    N: int
    K: int
    y_dtype: torch.dtype = INT32
    data: str = RANDOM
    scales: str = ORDINARY
    form: str = FLAT
    memory: str = PLAIN
    gives_N: bool = True
    capability: tuple | None = None

    @property
    def kernel(self):
        return self.variant[0]

    @property
    def outputs(self):
        """Columns of y."""
        return self.N if self.gives_N else -(-self.N // 16) * 16

    @property
    def is_exact(self):
        """Whether one answer alone is right, bit for bit."""
        return self.y_dtype == INT32 or self.scales == POWERS

    def load(self, **options):
        """The kernel of this case."""
        name, fragment = self.variant
        return load(name, fragment=fragment, y_dtype=self.y_dtype, **options)

    def as_launched(self):
        """A context in which the case is launched as it says."""
        return launched_as_on(self.capability)

    def plan(self):
        """The `Plan` of this case in the simulator, or on a device of its capability."""
        M, N, K = self.M, self.outputs, -(-self.K // 32) * 32
        with self.as_launched():
            return self.load().plan(M, N, K)

    def __str__(self):
        told = [f"{'-'.join(filter(None, self.variant))}-M{self.M}-N{self.N}-K{self.K}"]
        for field in fields(self)[4:]:
            value = getattr(self, field.name)
            if value != field.default:
                told.append(f"{field.name}={value}".replace("torch.", ""))
        return "-".join(told)


SUMS = {
    "variant": VARIANTS,
    "M": [1, 2, 4, 8, 9, 16, 17, 64, 65, 130],
    "N": [1, 5, 15, 16, 17, 33, 100, 129],
    "K": [1, 31, 33, 96, 544, 1000, 2100, 4500],
    "data": [RANDOM, EXTREMES],
    "memory": [PLAIN, T_VIEW, SLICED, UNALIGNED],
    "gives_N": [True, False],
}
SCALED = {
    "variant": VARIANTS,
    "M": [1, 3, 5, 7, 8, 9, 33, 65, 100],
    "N": [1, 17, 100, 129],
    "K": [33, 512, 1056],
    "y_dtype": [FP16, BF16],
    "scales": [POWERS, ORDINARY, WIDE],
    "form": [NUMBER, FLAT, COLUMN],
    "memory": [PLAIN, UNALIGNED],
}
ON_A_GPU = {
    "M": [*range(1, 10), 16, 17, 31, 33, 64, 65, 100, 130],
    "K": [1, 31, 32, 33, 96, 500, 512, 544, 1000, 1056, 2100, 4500],
}
SUMS_ON_A_GPU = SUMS | ON_A_GPU
SCALED_ON_A_GPU = SCALED | {"M": ON_A_GPU["M"]}


def all_cases(sums=SUMS, scaled=SCALED, seed=0):
    """Every case; another seed combines the values otherwise."""
    cases = [Case(**row) for row in rows_where_pairs_meet(sums, seed)]
    cases += [Case(**row) for row in rows_where_pairs_meet(scaled, seed)]
    return [*cases, *of_all_launches()]


def cases_for_a_gpu():
    """More sizes, in three combinations."""
    for seed in range(3):
        yield from all_cases(SUMS_ON_A_GPU, SCALED_ON_A_GPU, seed)


def of_all_launches():
    """Launches that no case of the lists above has: many blocks, and blocks of little memory."""
    for variant in VARIANTS:
        if variant[0] == GEMV:
            yield Case(variant, M=1, N=6450, K=100)
            yield Case(variant, M=1, N=6401, K=4100)
        if variant[0] != GEMM:
            continue
        yield Case(variant, M=70, N=8440, K=300)
        yield Case(variant, M=130, N=16820, K=140)
        for M, K in ((5, 33), (100, 544)):
            yield Case(variant, M, N=100, K=K, capability=LITTLE_SHARED_MEMORY)


def rows_where_pairs_meet(factors, seed):
    """Rows {factor: value} in which any two values of two factors meet; the same in every run."""
    choose, names = random.Random(seed), list(factors)
    missing = dict.fromkeys(
        ((a, u), (b, v))
        for a, b in combinations(names, 2)
        for u, v in product(factors[a], factors[b])
    )

    def newly_met(row, name, value):
        pairs = (sorted([(name, value), item], key=lambda i: names.index(i[0])) for item in row)
        return sum(tuple(pair) in missing for pair in pairs)

    while missing:
        row = dict(choose.choice(list(missing)))
        for name in choose.sample(names, len(names)):
            if name not in row:
                values, items = choose.sample(factors[name], len(factors[name])), list(row.items())
                row[name] = max(values, key=lambda value: newly_met(items, name, value))
        for pair in combinations(((name, row[name]) for name in names), 2):
            missing.pop(pair, None)
        yield row


CASES = all_cases()


def one_case_of_each_build(cases):
    """As few cases as need every library that `cases` need."""
    return list({(case.variant, str(case.plan().product.defines)): case for case in cases}.values())


def compile_for_gpu(case):
    """The library of a case, in the cache."""
    device = torch.device("cuda", torch.cuda.current_device())
    with case.as_launched():
        case.load().compile_for_gpu(device, case.M, case.outputs, -(-case.K // 32) * 32)


@contextmanager
def launched_as_on(capability):
    """Launches as on a device of that compute capability; None changes nothing."""
    if capability is None:
        yield
        return
    machine = SIMULATED._replace(capability=capability)
    with mock.patch.object(kernel_module, "machine_of", lambda device: machine):
        yield


@dataclass(frozen=True)
class Inputs:
    """What a kernel takes, and the sums over K, (M, outputs) int64. Scales are float32, 1-D."""

    x: torch.Tensor
    W_packed: torch.Tensor
    scales: torch.Tensor
    token_scales: torch.Tensor
    sums: torch.Tensor

    def operands(self, case, device="cpu"):
        """Arguments of the kernel of `case`, on `device`."""
        arguments = {
            "x": laid_out(self.x.to(device), case.memory),
            "W": laid_out(self.W_packed.to(device), case.memory),
        }
        if case.gives_N:
            arguments["N"] = case.N
        if case.y_dtype != INT32:
            scales, token_scales = self.scales.to(device), self.token_scales.to(device)
            arguments["scales"] = in_form(scales, case.form, case.memory)
            arguments["token_scales"] = in_form(token_scales, case.form, case.memory)
        return arguments

    def exact(self):
        """token_scales[m] * scales[n] * sums[m, n], float64."""
        return self.sums.double() * self.token_scales.double()[:, None] * self.scales.double()


def make_case(case, seed=0):
    """The `Inputs` of a case, on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    x = integers(-128, 127, (case.M, case.K), generator)
    codes = integers(0, 3, (case.N, case.K), generator)
    if case.data == EXTREMES:  # also the largest sum of all: 256 K
        x, codes = torch.where(x < 0, -128, 127), torch.where(codes < 2, 0, 3)
        x[::2], codes[::2] = -128, 0
    x, codes = x.to(torch.int8), codes.to(torch.uint8)
    padded = torch.nn.functional.pad(codes, (0, 0, 0, case.outputs - case.N))
    scales, token_scales = (_factors(case, size, generator) for size in (case.outputs, case.M))
    return Inputs(x, pack_bitnet_2bit(codes), scales, token_scales, sums_of(x, padded))


def sums_of(x, codes):
    """The oracle: int64, and it knows nothing of packing."""
    return x.long() @ (codes.long() - 2).T


def run(case, inputs, device="cpu", kernel=None):
    """y of the kernel, written over what nobody may see again."""
    kernel = kernel or case.load()
    with case.as_launched():
        return kernel(**inputs.operands(case, device), out=poison(case, device))


def inspect(case, kernel=None):
    """(what the simulator finds wrong, whether y is right)."""
    inputs = make_case(case)
    with case.as_launched():
        report = (kernel or case.load()).inspect(**inputs.operands(case))
    return report.findings, is_right(case, inputs, report.y)


def with_text(case, right, wrong):
    """The kernel of a case with `wrong` in its text in place of `right`."""
    kernel = case.load()
    assert right in kernel.source, "the kernel's text has changed: change the mistake with it"
    kernel._program.source = kernel.source.replace(right, wrong)
    return kernel


def gets_it_wrong(case, right, wrong):
    """Whether y is wrong, or the simulator stops the kernel, with that mistake in its text."""
    inputs = make_case(case)
    try:
        return not is_right(case, inputs, run(case, inputs, kernel=with_text(case, right, wrong)))
    except KernelFault:
        return True


def is_right(case, inputs, y):
    """Whether y is the one right answer, or rounded no more often than a kernel has to."""
    y = y.cpu()
    if y.dtype != case.y_dtype or y.shape != inputs.sums.shape:
        return False
    if case.y_dtype == INT32:
        return torch.equal(y.long(), inputs.sums)
    if case.is_exact:
        return torch.equal(y, inputs.exact().to(y.dtype))
    return is_rounded_well(y, inputs.exact())


def is_rounded_well(y, exact):
    """Whether y, fp16 or bf16, is what float32 as near to `exact` as a kernel comes rounds to.

    Three roundings in float32 make |y32 - exact| <= g |exact|, g = growth(3, 2**-24). Rounding
    keeps the order of numbers, also to infinity: so y is between what exact - and + g |exact|
    become.
    """
    off = bounds.growth(_ROUNDINGS, FP32_ROUNDOFF) * exact.abs()
    low, high = ((exact + sign * off).to(y.dtype) for sign in (-1, 1))
    return bool(((low <= y) & (y <= high)).all())


def poison(case, device="cpu"):
    """y before it is written: NaN, or the lowest int32."""
    value = torch.iinfo(INT32).min if case.y_dtype == INT32 else torch.nan
    return torch.full((case.M, case.outputs), value, dtype=case.y_dtype, device=device)


def laid_out(matrix, memory):
    """The same numbers with other strides, or from an address that no piece of 16 bytes has."""
    if memory == PLAIN:
        return matrix.contiguous()
    if memory == T_VIEW:
        return matrix.T.contiguous().T
    if memory == UNALIGNED:
        room = torch.full((matrix.numel() + 1,), 0x5A).to(matrix)
        return room[1:].copy_(matrix.reshape(-1)).view(matrix.shape)
    rows, columns = matrix.shape
    wide = torch.full((2 * rows + 3, 3 * columns + 4), 0x5A).to(matrix)
    return wide[2 : 2 + 2 * rows : 2, 3 : 3 + 3 * columns : 3].copy_(matrix)


def in_form(factors, form, memory):
    """Scales as a number, or (size,) or (size, 1)."""
    if form == NUMBER:
        return factors[0].item()
    return laid_out(factors[:, None], memory).reshape((-1,) if form == FLAT else (-1, 1))


def integers(low, high, shape, generator):
    """int64, both ends included."""
    return torch.randint(low, high + 1, shape, generator=generator)


def _factors(case, size, generator):
    """Scales, float32 (size,), no two alike unless they are powers of two or a single number."""
    signs = 2 * integers(0, 1, (size,), generator) - 1
    if case.y_dtype == INT32:
        factors = torch.ones(size)
    elif case.scales == ORDINARY:
        factors = signs * (0.5 + torch.rand(size, generator=generator)) / 64
    else:
        few = (-9, -4) if case.scales == POWERS else _EXPONENTS[case.y_dtype]
        factors = signs * 2.0 ** integers(*few, (size,), generator)
        if case.scales == WIDE:
            factors = factors * (1 + torch.rand(size, generator=generator))
    return factors[:1].expand(size).clone() if case.form == NUMBER else factors.float()
