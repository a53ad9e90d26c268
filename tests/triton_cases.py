"""Cases for the Triton kernels and their right answers, for the interpreter and for a GPU.

Any two values of two factors that some case may have meet in one of `CASES`: kernel, weights, type
of x and y, mode, scales, bias, shape, how the problem is cut into programs, and data.
"""

import random
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from functools import cached_property

import torch
from pairwise import covering, unlike

from gemlite_edu.numbers.bounds import factored_error_bound, tensor_core_error_bound
from gemlite_edu.numbers.reference import ScaledProduct
from gemlite_edu.numbers.weight_modes import ChannelScaleMode, WeightMode
from gemlite_edu.operators.triton_product import Epilogue, matmul
from gemlite_edu.operators.weight import PackedWeight
from gemlite_edu.packing.plain_tiles import PlainTiles, tile_plain
from gemlite_edu.packing.plane_tiles import PlaneTiles, best_layout, pack_with_high

FP16, BF16, FP32, INT8, INT32 = (
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.int8,
    torch.int32,
)
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
GEMVS, GEMMS = ("gemv", "gemv_revsplitk"), ("gemm_splitk", "gemm")
EXACT, RANDOM = "exact", "random"
ZERO, CODES, BEYOND, FRACTIONS = "zero", "codes", "beyond", "fractions"
SIGNED, UNSIGNED = "signed", "unsigned"

# (K, group size), None: one group. Groups of a part of a tile, of one, of two; padded and not.
K_AND_GROUP = [
    (16, None), (33, None), (1000, None), (4080, None), (48, 16), (2032, 16), (256, 16), (68, 17),
    (136, 17), (96, 24), (256, 32), (96, 48), (240, 48), (640, 64), (384, 96), (960, 96),
    (1024, 128), (4096, 128), (1536, 512), (2048, 1024), (1152, 576),
]  # fmt: skip
# BLOCK_N, num_warps, num_stages.
PROGRAMS = [(32, 1, 1), (64, 1, 3), (64, 2, 3), (128, 2, 1), (128, 4, 2), (16, 1, 5)]

FACTORS = {
    "kernel": [*GEMVS, *GEMMS],
    "weights": [8, 4, 3, 2, 1, INT8, E4M3, E5M2, FP16, BF16],
    "x_dtype": [FP16, BF16, E4M3, E5M2, INT8],
    "y_dtype": [FP16, BF16, FP32, E4M3, E5M2, INT32],
    "mode": list(WeightMode),
    "channel_mode": list(ChannelScaleMode),
    "bias": [False, True],
    "M": [1, 2, 3, 5, 16, 17, 30, 65, 100, 250, 1000, 4096],
    "N": [1, 15, 16, 17, 33, 100, 129, 1000, 2032],
    "K_and_group": K_AND_GROUP,
    "word_bits": [None, 8, 16, 32],
    "words": [UNSIGNED, SIGNED],
    "scale_dtype": [FP32, FP16],
    "zeros": [ZERO, CODES, BEYOND, FRACTIONS],
    "data": [EXACT, RANDOM],
    "block_n_warps_stages": PROGRAMS,
    "block_m": [16, 32, 64, 128],
    "chunks": [1, 2, 3, 8, 32],
    "atomic": [False, True],
    "dot_dtype": [FP32, FP16],
}

MOST_PRODUCTS = 2**28
LARGEST_ZERO = 255
_POOL = 4000
_EXACT_IN_FP32 = 2**24


@dataclass(frozen=True)
class Case:
    """A launch: one value of each of the `FACTORS`; None where a factor means nothing."""

    kernel: str
    weights: int | torch.dtype
    x_dtype: torch.dtype
    y_dtype: torch.dtype
    mode: WeightMode
    channel_mode: ChannelScaleMode
    bias: bool
    M: int
    N: int
    K_and_group: tuple
    word_bits: int | None
    words: str | None
    scale_dtype: torch.dtype | None
    zeros: str | None
    data: str
    block_n_warps_stages: tuple
    block_m: int | None
    chunks: int | None
    atomic: bool
    dot_dtype: torch.dtype

    @property
    def K(self):
        return self.K_and_group[0]

    @property
    def group_size(self):
        return self.K_and_group[1]

    @property
    def products(self):
        """Multiply-adds."""
        return self.M * self.N * self.K

    @property
    def turns(self):
        """Planes and rows that all programs take in: what the interpreter needs time for."""
        programs = -(-self.N // self.config["BLOCK_N"]) * -(-self.M // self.config["BLOCK_M"])
        return self.M + programs * self.layout.padded_K // self.layout.depth

    @property
    def is_packed(self):
        return isinstance(self.weights, int)

    @property
    def has_scales(self):
        return self.mode in (WeightMode.SCALE, WeightMode.SHIFT_SCALE, WeightMode.FMA)

    @property
    def has_zeros(self):
        return self.mode in (WeightMode.SHIFT, WeightMode.SHIFT_SCALE, WeightMode.FMA)

    @property
    def has_channel_scales(self):
        return self.channel_mode.name.startswith("WEIGHT")

    @property
    def has_token_scales(self):
        return self.channel_mode.name.endswith("ACTIVATION")

    @property
    def sums_are_int32(self):
        return self.x_dtype == INT8 and not self.has_scales

    @property
    def compute_dtype(self):
        """Of a tensor core's operands, on a GPU."""
        if self.x_dtype == INT8 and self.weights == INT8:
            return INT8
        return BF16 if self.x_dtype == BF16 else FP16

    @property
    def layout(self):
        if not self.is_packed:
            return PlainTiles(self.weights, self.K)
        if self.word_bits is None:
            return best_layout(self.weights, self.K, self.group_size)
        return PlaneTiles(self.weights, self.K, self.group_size, self.word_bits)

    @property
    def config(self):
        block_n, warps, stages = self.block_n_warps_stages
        return {
            "BLOCK_M": self.block_m or 1,
            "BLOCK_N": block_n,
            "chunks": self.chunks or 1,
            "num_warps": warps,
            "num_stages": stages,
        }

    @cached_property
    def values(self):
        """A tuple of (factor, value)."""
        return tuple(zip(FACTORS, astuple(self), strict=True))

    def __str__(self):
        options = [self.mode.name, f"scaled by {self.channel_mode.name}"]
        options += ["bias"] * self.bias + ["atomic"] * self.atomic
        if self.is_packed:
            options += [f"{self.word_bits}-bit {self.words} words", f"zeros {self.zeros}"]
        blocks = "/".join(str(value) for value in self.config.values())
        return (
            f"{self.kernel}-w{_short(self.weights)}-x{_short(self.x_dtype)}-y{_short(self.y_dtype)}"
            f"-M{self.M}-N{self.N}-K{self.K}-g{self.group_size}-{'-'.join(options)}"
            f"-{_short(self.scale_dtype)} scales-dot {_short(self.dot_dtype)}-{blocks}-{self.data}"
        )


def _short(value):
    return str(value).removeprefix("torch.").replace("float", "f")


def random_case(choose):
    """A case within the contract."""
    while True:
        case = _settled(Case(**{name: choose.choice(values) for name, values in FACTORS.items()}))
        if case.products <= MOST_PRODUCTS:
            return case


def _settled(case):
    """The case with what is outside of the contract, or means nothing, replaced."""
    x, weights = case.x_dtype, case.weights
    changes = {}
    if not case.is_packed:
        if weights == INT8 and x in (E4M3, E5M2):
            x = FP16
        elif weights in (E4M3, E5M2) and x == INT8:
            x = BF16
        elif weights in (FP16, BF16):
            x = weights
        none = dict.fromkeys(("word_bits", "words", "scale_dtype", "zeros"))
        changes |= none | {"mode": WeightMode.NONE, "K_and_group": (case.K, None), "x_dtype": x}
        case = replace(case, **changes)
    else:
        changes |= _settled_words(case)
    if not case.has_scales and not case.has_zeros:
        changes["scale_dtype"] = None
    if not case.has_zeros:
        changes["zeros"] = None
    elif x == INT8 and case.zeros == FRACTIONS:
        changes["zeros"] = BEYOND
    changes |= _settled_output(case, x)
    if case.kernel in GEMVS:
        changes |= {"block_m": None, "dot_dtype": FP32}
    elif x != FP16 or case.dot_dtype == FP32:
        changes["dot_dtype"] = FP32
    else:
        changes["data"] = RANDOM  # fp16 holds no exact sums of these
    if case.kernel == "gemm":
        changes |= {"chunks": None, "atomic": False}
    case = replace(case, **changes)
    if case.is_packed and case.layout.fields == 32 and (case.block_m or 1) > 32:
        case = replace(case, block_m=32)  # 32 unrolled products take long to compile
    rows = (case.block_m or 1) * case.layout.fields * case.layout.depth
    if rows * 2 * (case.config["num_stages"] - 1) > 150_000:  # bytes of x in flight
        case = replace(case, block_n_warps_stages=(64, 2, 1))
    if x == BF16 and case.weights == 8 and case.data == EXACT and case.zeros in (BEYOND, FRACTIONS):
        case = replace(case, zeros=CODES)  # bf16 holds integers up to 256
    return case


def _settled_words(case):
    bits = case.word_bits
    if bits == 8 and case.weights == 3:
        bits = 16
    return {"word_bits": bits, "words": UNSIGNED if bits == 8 else case.words}


def _settled_output(case, x):
    if case.y_dtype != INT32:
        return {}
    if x != INT8 or case.has_scales:
        return {"y_dtype": FP32}
    return {"channel_mode": ChannelScaleMode.NONE, "bias": False}


def all_cases(seed=6):
    """A list in which all pairs meet that meet in thousands of random cases."""
    choose = random.Random(seed)
    return covering([random_case(choose) for _ in range(_POOL)])


CASES = all_cases()


def small_cases(count=40, most_turns=300, most_products=2**20):
    """Cases that the interpreter is done with soon, in which as many different pairs meet."""
    small = [case for case in CASES if case.turns <= most_turns and case.products <= most_products]
    return unlike(small, count)


@dataclass(frozen=True)
class Inputs:
    """What a kernel takes; product: the same for the oracle."""

    x: torch.Tensor
    weight: PackedWeight
    epilogue: Epilogue
    product: ScaledProduct

    def on(self, device):
        """The same on another device; the oracle's stays."""
        return replace(
            self,
            x=self.x.to(device),
            weight=_moved(self.weight, device),
            epilogue=_moved(self.epilogue, device),
        )


def _moved(holder, device):
    tensors = {
        field.name: getattr(holder, field.name).to(device)
        for field in fields(holder)
        if isinstance(getattr(holder, field.name), torch.Tensor)
    }
    return replace(holder, **tensors)


def example(name, **changes):
    """A case of a kernel with 4-bit codes in groups, chunks, and every factor and term of y."""
    block_m, chunks = None if name in GEMVS else 16, None if name == "gemm" else 4
    both = ChannelScaleMode.WEIGHT_AND_ACTIVATION
    case = Case(
        name, 4, FP16, FP16, WeightMode.SHIFT_SCALE, both, True, 3, 100, (1024, 128), 32, SIGNED,
        FP32, CODES, EXACT, (64, 2, 3), block_m, chunks, False, FP32,
    )  # fmt: skip
    return replace(case, **changes)


def plain_example(name, **changes):
    """A case with weights that are not packed."""
    nothing = dict.fromkeys(("word_bits", "words", "scale_dtype", "zeros"))
    plain = {"mode": WeightMode.NONE, "channel_mode": ChannelScaleMode.NONE, "bias": False}
    case = example(name, M=2, N=20, **nothing | plain)
    return replace(case, **{"weights": FP16, "K_and_group": (100, None)} | changes)


def fp8_products(name, dtype, device):
    """(y, the right y) where every finite number of fp8 meets a 1: as a weight, and as an x."""
    numbers = torch.arange(256, dtype=torch.uint8).view(dtype)
    numbers = numbers[numbers.float().isfinite()].reshape(1, -1)
    count = numbers.shape[1]
    layout = PlainTiles(dtype, 1)
    column = PackedWeight(tile_plain(numbers.T.contiguous(), layout).to(device), layout)
    ones = torch.ones(2, 1).half().to(device)
    y = matmul(name, ones, column, epilogue=Epilogue(FP32))
    yield y.cpu(), numbers.float().expand(2, -1)
    layout = PlainTiles(FP16, count)
    identity = PackedWeight(tile_plain(torch.eye(count).half(), layout).to(device), layout)
    y = matmul(name, numbers.to(device), identity, epilogue=Epilogue(FP32))
    yield y.cpu(), numbers.float()


def make_case(case, seed=0):
    """The `Inputs` of a case, on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    codes = _codes(case, generator)
    scales, zeros = _scales(case, generator), _zeros(case, generator)
    x = _x(case, zeros, generator).to(case.x_dtype)
    channel_scales = _factors(case.N, generator) if case.has_channel_scales else None
    token_scales = _factors(case.M, generator) if case.has_token_scales else None
    bias = None
    if case.bias:
        bias = _integers(-99, 99, (case.N,), generator).to(case.scale_dtype or FP32)
    product = ScaledProduct(x, codes, scales, zeros, channel_scales, token_scales, bias)
    if case.data == EXACT:
        _assert_exact(case, product)
    weight = _weight(case, codes, scales, zeros, channel_scales)
    return Inputs(x, weight, Epilogue(case.y_dtype, token_scales, bias), product)


def run(case, inputs, **options):
    """y, by the kernel of the case."""
    return matmul(
        case.kernel,
        inputs.x,
        inputs.weight,
        case.config,
        inputs.epilogue,
        **dict(dot_dtype=case.dot_dtype, atomic=case.atomic) | options,
    )


def right_answer(case, inputs):
    """The one right answer to exact data, of the type of y."""
    product = inputs.product
    sums = replace(product, channel_scales=None, token_scales=None, bias=None).exact()
    if case.y_dtype == INT32:
        return sums.to(INT32)
    y = sums.float()  # an int32 sum is rounded here; what follows is exact, up to the bias
    y = (y * product.factors().float() + product.bias_or_zero().float()).double()
    return _limited(y, case.y_dtype).to(case.y_dtype)


def is_right(case, inputs, y):
    """Whether y is the one right answer, or as near to it as an honest kernel comes."""
    if y.dtype != case.y_dtype or y.shape != (case.M, case.N):
        return False
    y = y.cpu()
    if case.data == EXACT or case.y_dtype == INT32:
        return torch.equal(y.double(), right_answer(case, inputs).double())
    y, exact, allowed = y.double(), inputs.product.exact(), bound(case, inputs)
    near = (y - _limited(exact, case.y_dtype)).abs() <= allowed
    if case.y_dtype not in (E4M3, E5M2):  # fp8 ends at its largest number, the others at infinity
        beyond = exact.abs() + allowed > torch.finfo(case.y_dtype).max
        near |= y.isinf() & (y.sign() == exact.sign()) & beyond
    return bool(near.all())


def bound(case, inputs):
    """The largest error of an honest kernel, (M, N)."""
    fused_dtype = case.scale_dtype if case.mode == WeightMode.FMA else None
    if case.kernel in GEMVS:
        return factored_error_bound(inputs.product, case.y_dtype, fused_dtype=fused_dtype)
    return tensor_core_error_bound(
        inputs.product,
        case.y_dtype,
        compute_dtype=case.compute_dtype,
        fused_dtype=fused_dtype,
        fp16_run=case.layout.tile if case.dot_dtype == FP16 else None,
    )


@contextmanager
def poisoned():
    """While this lasts, new memory holds NaN, or the lowest integer: what stays unwritten shows."""
    empty = torch.empty

    def poison(*arguments, **options):
        tensor = empty(*arguments, **options)
        floating = tensor.is_floating_point()
        return tensor.fill_(torch.nan if floating else torch.iinfo(tensor.dtype).min)

    torch.empty = poison
    try:
        yield
    finally:
        torch.empty = empty


def _limited(y, dtype):
    """y within the range of fp8, where kernels saturate."""
    if dtype not in (E4M3, E5M2):
        return y
    return y.clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max)


def _weight(case, codes, scales, zeros, channel_scales):
    layout = case.layout
    if not case.is_packed:
        return PackedWeight(tile_plain(codes, layout), layout, channel_scales=channel_scales)
    words, high = pack_with_high(codes, layout)
    if case.words == SIGNED:
        words, high = _signed(words), None if high is None else _signed(high)
    if case.mode == WeightMode.FMA:
        zeros = (-zeros * scales).to(case.scale_dtype)
    rows_of_groups = [
        None if t is None else layout.pad_groups(t.to(case.scale_dtype).T) for t in (scales, zeros)
    ]
    return PackedWeight(words, layout, case.mode, *rows_of_groups, channel_scales, high)


def _signed(words):
    signed = {torch.uint32: torch.int32, torch.uint16: torch.int16}
    return words.view(signed.get(words.dtype, words.dtype))


def _codes(case, generator):
    """(N, K): uint8 codes, every one of which is drawn; or numbers of the weights' type."""
    shape = case.N, case.K
    if case.is_packed:
        return _integers(0, 2**case.weights - 1, shape, generator).to(torch.uint8)
    if case.weights == INT8:
        return _integers(-128, 127, shape, generator).to(INT8)
    if case.data == RANDOM:
        return torch.randn(shape, generator=generator).to(case.weights)
    octaves = 2.0 ** _integers(-2, 2, (case.N, 1), generator)
    return (_integers(-6, 6, shape, generator) * octaves).to(case.weights)


def _scales(case, generator):
    """(N, groups) float32, of neither type more than it holds; None if the mode has none."""
    if not case.has_scales:
        return None
    shape = case.N, case.K // (case.group_size or case.K)
    if case.data == RANDOM:
        scales = (0.5 + torch.rand(shape, generator=generator)) / 2**case.weights
        return scales.to(case.scale_dtype).float()
    octaves = 3 if case.weights < 8 and case.zeros != FRACTIONS else 1
    of_rows = _integers(-4, 1, (case.N, 1), generator)
    return 2.0 ** (of_rows + _integers(0, octaves, shape, generator))


def _zeros(case, generator):
    if not case.has_zeros:
        return None
    top, shape = 2**case.weights - 1, (case.N, case.K // (case.group_size or case.K))
    if case.zeros == ZERO:
        return torch.zeros(shape)
    if case.zeros == FRACTIONS and case.data == RANDOM:
        return (torch.rand(shape, generator=generator) * top).to(case.scale_dtype).float()
    if case.zeros == FRACTIONS:
        return _integers(0, top - 1, shape, generator) + 0.5
    beyond = top // 4 + 1 if case.zeros == BEYOND else 0
    if beyond and case.x_dtype == INT8:
        beyond = LARGEST_ZERO - top
    return _integers(-beyond, top + beyond, shape, generator).float()


def _x(case, zeros, generator):
    """Random numbers; exact data has so many bits that sums over K stay exact in fp32."""
    shape = case.M, case.K
    if case.data == RANDOM and case.x_dtype != INT8:
        return torch.randn(shape, generator=generator)
    if case.x_dtype == INT8 and (case.data == RANDOM or case.y_dtype == INT32):
        return _integers(-128, 127, shape, generator)
    largest_x = 3 if case.K < 3000 else 1
    return _integers(-largest_x, largest_x, shape, generator)


def _factors(count, generator):
    """Powers of two for channels or tokens, over four octaves."""
    return 2.0 ** _integers(-3, 0, (count,), generator)


def _assert_exact(case, product):
    """Raise unless every order of additions gives the same sums."""
    codes, zeros, scales = product.parts
    x = product.x.double().abs()
    step = 0.5 if case.zeros == FRACTIONS else 1.0
    if not case.is_packed and case.weights != INT8:
        step = codes.abs().masked_fill(codes == 0, torch.inf).amin(1).clamp(max=64) / 8
    quanta = scales.amin(1) * step
    terms = x @ ((codes.abs() + zeros.abs()) * scales).T / quanta
    assert case.sums_are_int32 or terms.max() < _EXACT_IN_FP32, f"{case}: not exact in fp32"


def _integers(low, high, shape, generator):
    return torch.randint(low, high + 1, shape, generator=generator)
