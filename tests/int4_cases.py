"""Cases for products with int4 weights and their right answers, for the interpreter and for a GPU.

Any two values of two factors that some case may have meet in one of `CASES`: direction, what is
called, types, zeros, data, how every operand lies in memory, shape, and how the problem is cut
into programs.
"""

import random
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from unittest.mock import patch

import torch
import triton_cases
from pairwise import covering, unlike

from gemlite_edu.numbers.bounds import (
    dequantized_error_bound,
    scaled_weights_error_bound,
    tensor_core_error_bound,
)
from gemlite_edu.numbers.reference import ScaledProduct
from gemlite_edu.operators.choose import INT4_RULES, Rows, choose
from gemlite_edu.operators.int4_weight import Int4Weight
from gemlite_edu.operators.mixed_mm import triton_mixed_mm
from gemlite_edu.packing import pack_2xint4

FP16, BF16, FP32 = torch.float16, torch.bfloat16, torch.float32
U4, S4 = torch.uint8, torch.int8
FORWARD, TRANSPOSED = "forward", "transposed"
CONFIG = "config"  # the fused kernel, cut as the case says; the others: a kernel_type
EXACT, RANDOM = "exact", "random"
INTEGERS, FRACTIONS, BEYOND = "integers", "fractions", "beyond"
PLAIN, T_VIEW, SLICED, DIFFERENT = "contiguous", ".T view", "sliced", "different strides"

# K and group size: of one code, in one byte, odd, of a part of a tile, of many, of all of K.
K_AND_GROUP = [
    (2, 1), (2, 2), (34, 1), (64, 2), (10, 5), (70, 7), (48, 16), (72, 24), (66, 33), (96, 32),
    (144, 48), (192, 64), (192, 96), (254, 127), (258, 129), (384, 128), (1000, 1000), (1024, 128),
    (4096, 128), (4096, 4096),
]  # fmt: skip

FACTORS = {
    "direction": [FORWARD, TRANSPOSED],
    "call": [CONFIG, CONFIG, CONFIG, "compute_bound", "max_autotune", "dequantize"],
    "a_dtype": [FP16, BF16],
    "codes": [U4, S4],
    "scale_dtype": [FP16, BF16, FP32],
    "zero_dtype": [FP16, BF16, FP32],
    "zeros": [INTEGERS, FRACTIONS, BEYOND],
    "data": [EXACT, RANDOM],
    "a_memory": [PLAIN, T_VIEW, SLICED],
    "b_memory": [T_VIEW, PLAIN, SLICED],
    "scales_memory": [PLAIN, T_VIEW, SLICED, DIFFERENT],
    "M": [1, 2, 5, 16, 17, 64, 65, 129, 250, 1000, 4096],
    "N": [1, 2, 7, 17, 33, 64, 129, 300, 1000],
    "K_and_group": K_AND_GROUP,
    "block_m": [16, 32, 64, 128],
    "block_n": [16, 64, 128],
    "block_k": [32, 64, 128],
    "chunks": [1, 2, 3, 4, 5],
    "warps_stages": [(4, 3), (4, 4), (8, 3), (8, 2), (2, 1)],
    "acc_dtype": [None, FP32, FP16],
}

MOST_PRODUCTS = 2**28
_POOL = 6000
_EXACT_IN_FP32 = 2**24
_OF_CONFIGS = ("block_m", "block_n", "block_k", "chunks", "warps_stages")


@dataclass(frozen=True)
class Case:
    """A call: one value of each of the `FACTORS`; None where a factor means nothing."""

    direction: str
    call: str
    a_dtype: torch.dtype
    codes: torch.dtype
    scale_dtype: torch.dtype
    zero_dtype: torch.dtype
    zeros: str
    data: str
    a_memory: str
    b_memory: str
    scales_memory: str
    M: int
    N: int
    K_and_group: tuple
    block_m: int | None
    block_n: int | None
    block_k: int | None
    chunks: int | None
    warps_stages: tuple | None
    acc_dtype: torch.dtype | None

    @property
    def K(self):
        return self.K_and_group[0]

    @property
    def group_size(self):
        return self.K_and_group[1]

    @property
    def groups(self):
        return self.K // self.group_size

    @property
    def transposed(self):
        return self.direction == TRANSPOSED

    @property
    def products(self):
        """Multiply-adds."""
        return self.M * self.N * self.K

    @property
    def config(self):
        """For `triton_mixed_mm`; None: its own choice."""
        if self.call != CONFIG:
            return None
        warps, stages = self.warps_stages
        return {
            "BLOCK_M": self.block_m,
            "BLOCK_N": self.block_n,
            "BLOCK_K": self.block_k,
            "chunks": self.chunks,
            "num_warps": warps,
            "num_stages": stages,
        }

    @property
    def is_fused(self):
        """Whether the kernel on packed weights computes it."""
        if self.call == CONFIG:
            return True
        return self.call != "dequantize" and choose(Rows(self.M), INT4_RULES).matmul_type == "FUSED"

    @property
    def turns(self):
        """Tiles that all programs take in: what the interpreter needs time for."""
        if not self.is_fused:
            return 1
        block_m, block_n, block_k = self.block_m or 64, self.block_n or 256, self.block_k or 32
        pieces = self.groups * -(-(self.group_size + 1) // block_k)
        return -(-self.M // block_m) * -(-self.N // block_n) * pieces

    @property
    def fp16_run(self):
        """Products that are added up in fp16, on a GPU."""
        if self.acc_dtype != FP16 or self.a_dtype != FP16:
            return None
        if self.call != CONFIG:
            return 128
        return self.block_n if self.transposed else self.block_k

    @cached_property
    def values(self):
        """A tuple of (factor, value)."""
        return tuple(zip(FACTORS, astuple(self), strict=True))

    def __str__(self):
        config = self.config
        cut = self.call if config is None else "/".join(map(str, config.values()))
        dtypes = (self.a_dtype, self.scale_dtype, self.zero_dtype, self.acc_dtype)
        a, scales, zeros, acc = (str(dtype).removeprefix("torch.") for dtype in dtypes)
        return (
            f"{self.direction}-{cut}-M{self.M}-N{self.N}-K{self.K}-g{self.group_size}-"
            f"{'s4' if self.codes == S4 else 'u4'}-a {a} {self.a_memory}-b {self.b_memory}-"
            f"scales {scales} {self.scales_memory}-zeros {zeros} {self.zeros}-acc {acc}-{self.data}"
        )


def random_case(choose_from):
    """A case within the contract."""
    while True:
        values = {name: choose_from.choice(options) for name, options in FACTORS.items()}
        case = _settled(Case(**values))
        if case.products <= MOST_PRODUCTS:
            return case


def _settled(case):
    """The case with what means nothing replaced, and data that can be exact where it is to be."""
    if case.call != CONFIG:
        case = replace(case, **dict.fromkeys(_OF_CONFIGS))
    if case.fp16_run is not None or not case.is_fused:
        case = replace(case, data=RANDOM)  # sums of fp16 are not exact, nor are a library's
    return case


def all_cases(seed=7):
    """A list in which all pairs meet that meet in thousands of random cases."""
    choose_from = random.Random(seed)
    return covering([random_case(choose_from) for _ in range(_POOL)])


CASES = all_cases()


def small_cases(count=60, most_turns=80, most_products=2**21):
    """Cases that the interpreter is done with soon, in which as many different pairs meet."""
    small = [case for case in CASES if case.turns <= most_turns and case.products <= most_products]
    return unlike(small, count)


def example(direction=FORWARD, **changes):
    """A case with groups, chunks and edges in every dimension."""
    case = Case(
        direction, CONFIG, FP16, U4, FP32, FP32, FRACTIONS, EXACT, PLAIN, T_VIEW, PLAIN,
        5, 70, (192, 96), 16, 64, 64, 2, (4, 3), None,
    )  # fmt: skip
    return replace(case, **changes)


@dataclass(frozen=True)
class Inputs:
    """What `triton_mixed_mm` takes; product: the same for the oracle, on the CPU."""

    a: torch.Tensor
    b: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    group_size: int
    product: ScaledProduct

    @property
    def operands(self):
        return self.a, self.b, self.scales, self.zeros, self.group_size

    @property
    def weight(self):
        return Int4Weight(self.b, self.scales, self.zeros, self.group_size)


def make_case(case, seed=0, device="cpu"):
    """The `Inputs` of a case. What lies between the elements of a sliced operand is NaN."""
    generator = torch.Generator().manual_seed(seed)
    codes = _codes(case, generator)
    scales, zeros = _scales(case, generator), _zeros(case, generator)
    product = _product(case, _a(case, generator), codes, scales, zeros)
    if case.data == EXACT:
        _assert_exact(case, product)
    of_scales = {DIFFERENT: T_VIEW}.get(case.scales_memory, case.scales_memory)
    of_zeros = {DIFFERENT: PLAIN}.get(case.scales_memory, case.scales_memory)
    return Inputs(
        laid_out(product.x.to(device), case.a_memory),
        laid_out(pack_2xint4(codes.T).to(device), case.b_memory),
        laid_out(scales.to(device), of_scales),
        laid_out(zeros.to(device), of_zeros),
        case.group_size,
        product,
    )


def laid_out(matrix, memory):
    """The same numbers with other strides."""
    if memory == PLAIN:
        return matrix.contiguous()
    if memory == T_VIEW:
        return matrix.T.contiguous().T
    rows, columns = matrix.shape
    between = torch.nan if matrix.is_floating_point() else 0x5A
    wide = torch.full((2 * rows + 3, 3 * columns + 4), between).to(matrix)
    view = wide[2 : 2 + 2 * rows : 2, 3 : 3 + 3 * columns : 3]
    view.copy_(matrix)
    return view


def product_of(a, weight, transposed):
    """The `ScaledProduct` of a call with a weight on the CPU."""
    from gemlite_edu.packing import unpack_2xint4

    codes = unpack_2xint4(weight.packed)
    if not transposed:
        return ScaledProduct(a, codes.T, weight.scales.T, weight.zeros.T)
    scales, zeros = (
        t.repeat_interleave(weight.group_size, dim=0) for t in (weight.scales, weight.zeros)
    )
    return ScaledProduct(a, codes, scales, zeros)


def _product(case, a, codes, scales, zeros):
    weight = Int4Weight(pack_2xint4(codes.T), scales, zeros, case.group_size)
    return product_of(a, weight, case.transposed)


def run(case, inputs, **options):
    """y, as the case calls it."""
    how = {"config": case.config} if case.call == CONFIG else {"kernel_type": case.call}
    return triton_mixed_mm(
        *inputs.operands, transposed=case.transposed, acc_dtype=case.acc_dtype, **how | options
    )


def is_right(case, inputs, y):
    """Whether y is the one right answer, or as near to it as an honest kernel comes."""
    exact = inputs.product.exact()
    if y.dtype != case.a_dtype or y.shape != exact.shape or not y.is_contiguous():
        return False
    if case.data == EXACT:
        return torch.equal(y.cpu(), exact.to(case.a_dtype))
    return bool(((y.cpu().double() - exact).abs() <= bound(case, inputs.product)).all())


def bound(case, product):
    """The largest error of an honest kernel, one for each output."""
    return bound_of(
        product, case.transposed, case.is_fused, case.a_dtype, case.codes, case.fp16_run
    )


def bound_of(product, transposed, is_fused, a_dtype, codes=U4, fp16_run=None):
    """The same for a call that is no `Case`."""
    shift = 8 if codes == S4 else 0
    if not is_fused:
        return dequantized_error_bound(product, a_dtype, weight_dtype=a_dtype, code_shift=shift)
    derived = scaled_weights_error_bound if transposed else tensor_core_error_bound
    return derived(product, a_dtype, compute_dtype=a_dtype, fp16_run=fp16_run, code_shift=shift)


@contextmanager
def poisoned():
    """As in `triton_cases`, and for `new_empty` too: what stays unwritten is NaN."""

    def new_empty(tensor, size, **options):
        return torch.empty(size, **{"dtype": tensor.dtype, "device": tensor.device} | options)

    with triton_cases.poisoned(), patch.object(torch.Tensor, "new_empty", new_empty):
        yield


def _codes(case, generator):
    """(N, K), every code of which is drawn."""
    low, high = (-8, 7) if case.codes == S4 else (0, 15)
    return _integers(low, high, (case.N, case.K), generator).to(case.codes)


def _scales(case, generator):
    """(groups, N): powers of two over octaves, or numbers of the scales' type between them."""
    shape = case.groups, case.N
    octaves = 2.0 ** -_integers(3, 6, shape, generator)
    if case.data == RANDOM:
        octaves *= 1 + torch.rand(shape, generator=generator)
    return octaves.to(case.scale_dtype)


def _zeros(case, generator):
    """(groups, N): whole, or between the codes, or beyond them; of the zeros' type."""
    shape, low = (case.groups, case.N), -8 if case.codes == S4 else 0
    beyond = 12 if case.zeros == BEYOND else 0
    zeros = _integers(low - beyond, low + 14 + beyond, shape, generator).float()
    if case.zeros != INTEGERS:
        zeros += 0.5 if case.data == EXACT else torch.rand(shape, generator=generator)
    return zeros.to(case.zero_dtype)


def _a(case, generator):
    """Random numbers; exact data has so few bits that sums stay exact in fp32."""
    shape = case.M, case.N if case.transposed else case.K
    if case.data == RANDOM:
        return torch.randn(shape, generator=generator).to(case.a_dtype)
    return _integers(-3, 3, shape, generator).to(case.a_dtype)


def _assert_exact(case, product):
    """Raise unless every order of additions gives the same sums."""
    codes, zeros, scales = product.parts
    terms = 3 * ((codes - zeros).abs() * scales).sum(1)
    assert (terms / (2.0**-6 / 2)).max() < _EXACT_IN_FP32, f"{case}: not exact in fp32"


def _integers(low, high, shape, generator):
    return torch.randint(low, high + 1, shape, generator=generator)
