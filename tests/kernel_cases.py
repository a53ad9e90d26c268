"""Cases for every kernel and their right answers, for the simulator and for a GPU.

The cases combine every build of a kernel (its width, the type of x) with every M and every kind of
data, and with every value of each other factor. Any two values of two factors occur together in a
case of a packed kernel with 16-bit x, and in a case with int8 x (Kuhn, Kacker and Lei 2010, NIST SP
800-142). All combinations would be 500 times as many.
"""

import random
from dataclasses import dataclass
from itertools import combinations, cycle, islice, product
from math import gcd

import torch

from gemlite_edu import load, pack_warped_int32
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.plan import rows_in_one_pass
from gemlite_edu.numbers import bounds, reference
from gemlite_edu.numbers.quantize import QuantizedWeight
from gemlite_edu.packing import pack_3bit_planes, pack_sparse_1in2

PLAIN_KERNELS = [name for name, launch in KERNELS.items() if not launch.is_packed]
PACKED_KERNELS = [name for name, launch in KERNELS.items() if launch.is_packed]
PLANES, SPARSE, HALF2 = "gemv_a16w3_planes", "gemv_a16w7_sparse", "gemv_a16wn_half2"
VARIANTS = [
    (name, nbits)
    for name, launch in KERNELS.items()
    for nbits in (range(1, 9) if launch.takes_nbits else [None])
]
PLAIN_WEIGHT_BITS = 5

NUMBER, PER_CHANNEL = "number", "channel"  # scopes; a group size is one, too
EXACT, RANDOM, EXTREMES = "exact", "random", "extremes"
ZERO, TOP, CODES, FRACTIONS, BEYOND = "zero", "top", "codes", "fractions", "beyond"

_WARP_SIZE, _PAIR_TILE = 32, 64
_LARGEST_X, _EXTREME_X = 2, 2.0**15
_EXACT_BITS = {torch.float16: 11, torch.bfloat16: 8}
_FP32_BITS = 24


@dataclass(frozen=True)
class Case:
    """A kernel's variant (name, nbits), shapes, and what kind of numbers it meets.

    scope: of scales and zeros: NUMBER, PER_CHANNEL, or a group size.
    """

    variant: tuple
    x_dtype: torch.dtype
    N: int
    K: int
    M: int
    scope: str | int = PER_CHANNEL
    zeros: str = CODES
    data: str = EXACT

    @property
    def kernel(self):
        return self.variant[0]

    @property
    def nbits(self):
        return self.variant[1]

    @property
    def code_bits(self):
        """Bits of a code, whether or not the kernel is made with a width."""
        return self.nbits or {PLANES: 3, SPARSE: 7}.get(self.kernel, PLAIN_WEIGHT_BITS)

    @property
    def is_packed(self):
        return KERNELS[self.kernel].is_packed

    @property
    def group_size(self):
        return None if self.scope in (NUMBER, PER_CHANNEL) else self.scope

    @property
    def is_integer(self):
        return self.x_dtype == torch.int8

    @property
    def is_exact(self):
        """Whether one answer alone is right, bit for bit."""
        return self.is_integer or self.data != RANDOM

    @property
    def y_dtype(self):
        return torch.int32 if self.is_integer else self.x_dtype

    @property
    def library(self):
        """Cases that are equal in this share a library."""
        return self.variant, self.x_dtype, self.group_size, rows_in_one_pass(self.M)

    @property
    def values(self):
        """What the kernel meets in this case: {(kernel, factor, value)}."""
        factors = ("N", "K", "M", "scope", "zeros", "data")
        return {(self.kernel, factor, getattr(self, factor)) for factor in factors}

    def load(self, **options):
        """The kernel of this case."""
        return load(
            self.kernel, self.nbits, self.x_dtype, **{"group_size": self.group_size} | options
        )

    def __str__(self):
        width = "" if self.nbits is None else f"-{self.nbits}bit"
        scope = self.scope if self.group_size is None else f"groups of {self.scope}"
        dtype = str(self.x_dtype).removeprefix("torch.")
        shape = f"N{self.N}-K{self.K}-M{self.M}"
        return f"{self.kernel}{width}-{dtype}-{shape}-{scope}-{self.zeros}-{self.data}"


NS = [1, 31, 32, 33, 100, 1000]
KS = [32, 96, 128, 1000, 1024, 1152, 4096, 14336]
MS = list(range(1, 10))
MS_OF_PLAIN = [1, 2, 3]
GROUPS_OF_PART_WARPS = dict(zip(KS, [4, 24, 16, 40, 16, 144, 16, 112], strict=True))
GROUPINGS = [NUMBER, PER_CHANNEL, 32, 64, 128, "half of K", "part of a warp"]


def scope_of(grouping, K):
    """The scope of a case with that K; a group size that does not divide it becomes their gcd."""
    if grouping == "half of K":
        return K // 2
    if grouping == "part of a warp":
        return GROUPS_OF_PART_WARPS[K]
    return grouping if isinstance(grouping, str) else gcd(grouping, K)


def all_cases(seed=3):
    """Every case, the same in every run."""
    choose = random.Random(seed)
    return [
        case
        for variant in VARIANTS
        for x_dtype in KERNELS[variant[0]].x_dtypes
        for case in _cases_of_build(variant, x_dtype, choose)
    ]


def _cases_of_build(variant, x_dtype, choose):
    is_packed, is_integer = KERNELS[variant[0]].is_packed, x_dtype == torch.int8
    data = [RANDOM, EXTREMES] if is_integer else [EXACT, RANDOM, EXTREMES]
    rows = list(product(MS if is_packed else MS_OF_PLAIN, data))
    columns = [
        _each_as_often(values, len(rows), choose)
        for values in (
            NS,
            KS,
            GROUPINGS if is_packed else [PER_CHANNEL],
            [ZERO, TOP, CODES, BEYOND if is_integer else FRACTIONS],
        )
    ]
    for (M, kind), N, K, grouping, zeros in zip(rows, *columns, strict=True):
        yield Case(variant, x_dtype, N, K, M, scope_of(grouping, K), zeros, kind)


def _each_as_often(values, count, choose):
    """`count` of the values in random order, each as often as the others or once more."""
    shuffled = choose.sample(values, len(values))
    return choose.sample(list(islice(cycle(shuffled), count)), count)


CASES = all_cases()


def small_cases(of_each_build, largest=2**19, seed=1):
    """That many cases of every build, with at most `largest` multiply-adds."""
    choose = random.Random(seed)
    return [case for cases in _by_build(largest) for case in choose.sample(cases, of_each_build)]


def quick_cases(largest=2**19):
    """Two such cases of every build that share a library; every kernel meets many values."""
    chosen, met = [], set()
    for cases in _by_build(largest):
        twos = (two for two in combinations(cases, 2) if two[0].library == two[1].library)
        best = max(twos, key=lambda two: len((two[0].values | two[1].values) - met))
        chosen += best
        met |= best[0].values | best[1].values
    return chosen


def _by_build(largest):
    """For every width and type of x the cases with at most `largest` multiply-adds."""
    by_build = {}
    for case in CASES:
        if case.N * case.K * case.M <= largest:
            by_build.setdefault((case.variant, case.x_dtype), []).append(case)
    return by_build.values()


def one_case_of_each_build():
    """As few cases as need every library that `CASES` need."""
    return {case.library: case for case in CASES}.values()


def compile_for_gpu(case):
    """The library of a case, in the cache."""
    case.load().compile_for_gpu(torch.device("cuda", torch.cuda.current_device()), case.M)


@dataclass(frozen=True)
class Inputs:
    """What a kernel takes, with W_real (N, K) and expected (M, N), both float64.

    q: the `QuantizedWeight`, None for plain weights.
    """

    x: torch.Tensor
    W: torch.Tensor
    scales: torch.Tensor | float | None
    zeros: torch.Tensor | float | None
    W_real: torch.Tensor
    expected: torch.Tensor
    q: QuantizedWeight | None

    def operands(self, device="cpu"):
        """x, W and, if W is packed, scales and zeros; tensors on `device`."""
        operands = [self.x, self.W]
        if self.q is not None:
            operands += [self.scales, self.zeros]
        return [o.to(device) if isinstance(o, torch.Tensor) else o for o in operands]


def make_case(case, seed=0):
    """The `Inputs` of a case, on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    make = {EXACT: _exact_values, RANDOM: _random_values, EXTREMES: _extreme_values}[case.data]
    make = _integer_values if case.is_integer else make
    kept, distance = _kept(case, generator)
    x, codes, scales, zeros = make(case, distance, generator)
    W_real = kept * (codes - _per_column(zeros, case.K)) * _per_column(scales, case.K)
    if case.is_exact and not case.is_integer:
        _assert_exact(case, x, codes, W_real, scales, zeros)
    x = x.to(case.x_dtype)
    if not case.is_packed:
        W = W_real.to(case.x_dtype)
        return Inputs(x, W, None, None, W.double(), reference.matmul(x, W), None)
    codes = codes.to(torch.uint8)
    q = QuantizedWeight(
        codes, scales.float(), zeros.float(), case.code_bits, case.group_size or case.K
    )
    scales, zeros = (_as_operand(case, value) for value in (scales, zeros))
    expected = reference.matmul(x, W_real)
    return Inputs(x, _pack(case, codes, kept), scales, zeros, W_real, expected, q)


def is_right(case, inputs, y):
    """Whether y is the one right answer, or as near to it as an honest kernel comes."""
    if y.dtype != case.y_dtype:
        return False
    if case.is_exact:
        return torch.equal(y, inputs.expected.to(y.dtype))
    error = (y.double() - inputs.expected).abs()
    return bool((error <= _bound(case, inputs)).all())


def poison(case, device="cpu"):
    """y (M, N) before it is written: NaN, or the lowest int32."""
    value = -(2**31) if case.is_integer else torch.nan
    return torch.full((case.M, case.N), value, dtype=case.y_dtype, device=device)


def _bound(case, inputs):
    if case.kernel == HALF2:
        return bounds.half2_error_bound(inputs.x, inputs.q, case.y_dtype)
    return bounds.error_bound(inputs.x, inputs.W_real, case.y_dtype)


def _pack(case, codes, kept):
    if case.kernel == SPARSE:
        return pack_sparse_1in2(codes, kept)
    if case.kernel == PLANES:
        return pack_3bit_planes(codes)
    return pack_warped_int32(codes, case.nbits)


def _as_operand(case, values):
    """Scales or zeros as the kernel takes them: a number, or a tensor of its type."""
    if case.scope == NUMBER:
        return values.item()
    return values.to(torch.int32 if case.is_integer else torch.float32)


def _kept(case, generator):
    """(1 where a weight is kept, (N, K) or a single 1; the distance of partners in x).

    Partners k and k ^ distance, which cancel in exact data, share a group, and whether they are
    kept.
    """
    run = gcd(_WARP_SIZE, case.group_size or case.K)  # neighbours that no group or warp divides
    distance = _integers(min(1, run - 1), run - 1, (), generator).item()
    if case.kernel != SPARSE:
        return torch.ones(1, 1, dtype=torch.int64), distance
    pairs = -(-case.K // _PAIR_TILE)
    first = _integers(0, 1, (case.N, pairs, _WARP_SIZE), generator)
    lanes = torch.arange(_WARP_SIZE)
    first = first[..., torch.minimum(lanes, lanes ^ distance)]
    return torch.stack([first, 1 - first], dim=2).flatten(1)[:, : case.K], distance


def _exact_values(case, distance, generator):
    """Small integers and powers of two whose outputs stay below 2**11 quanta, or 2**8 in bf16.

    Partners nearly cancel, so that a single wrong code shows. A quarter of them at most do not, or
    the zeros would cancel, too: their codes are next to the zero.
    """
    N, K, top = case.N, case.K, 2**case.code_bits - 1
    scales, zeros = 2.0 ** _exponents(case, generator), _zeros(case, generator)
    signs = 2 * _integers(0, 1, (case.M, K), generator) - 1
    x = signs * _integers(1, _LARGEST_X, (case.M, K), generator)
    codes = _integers(0, top, (N, K), generator)

    lone, paired, nudged = _columns(case, distance, generator)
    x[:, paired] = -x[:, paired ^ distance]
    codes[:, paired] = codes[:, paired ^ distance]
    codes[:, nudged] += _integers(-1, 1, (N, len(nudged)), generator)
    next_to_zero = _per_column(zeros, K).floor().long() + _integers(0, 1, (N, K), generator)
    codes[:, lone] = next_to_zero[:, lone]
    return x, codes.clamp(0, top), scales, zeros


def _columns(case, distance, generator):
    """Columns (without a partner, that cancel theirs, that nearly do) of exact data.

    So few do not cancel that an output, a sum of random signs, stays below its limit.
    """
    k = torch.arange(case.K)
    if distance == 0:
        return k, k[:0], k[:0]
    second = k[k > k ^ distance]
    second = second[torch.randperm(len(second), generator=generator)]
    limit = 2 ** _EXACT_BITS[case.x_dtype] * _step_of_zeros(case)
    most = min(int(limit / 16) ** 2, len(second))
    lone, paired = second.tensor_split([max(1, most // 4)])
    return torch.cat([lone, lone ^ distance]), paired, paired[: most // 2]


def _step_of_zeros(case):
    return 0.5 if case.zeros == FRACTIONS else 1.0


def _random_values(case, _, generator):
    codes = _integers(0, 2**case.code_bits - 1, (case.N, case.K), generator)
    x = torch.randn(case.M, case.K, generator=generator)
    scales = 0.5 + torch.rand(_shape(case), generator=generator)
    return x, codes, (scales / 2**case.code_bits).float(), _zeros(case, generator)


def _extreme_values(case, _, generator):
    """Sums as large as they get: x half of fp16's range, all of one sign; codes 0 and the top."""
    top = 2**case.code_bits - 1
    signs = 2 * _integers(0, 1, (case.M, 1), generator) - 1
    x = _EXTREME_X * signs.expand(case.M, case.K)
    exponents = _exponents(case, generator, highest=-(case.K * top).bit_length())
    return x, _extreme_codes(case, generator), 2.0**exponents, _zeros(case, generator)


def _integer_values(case, _, generator):
    """For int8 x: no rounding anywhere, so that x, scales and zeros may be any integers."""
    top, shape = 2**case.code_bits - 1, _shape(case)
    scales = _integers(1, 3, shape, generator) * (2 * _integers(0, 1, shape, generator) - 1)
    if case.data == EXTREMES:
        x = 255 * _integers(0, 1, (case.M, case.K), generator) - 128
        return x, _extreme_codes(case, generator), scales, _zeros(case, generator)
    x = _integers(-128, 127, (case.M, case.K), generator)
    codes = _integers(0, top, (case.N, case.K), generator)
    return x, codes, scales, _zeros(case, generator)


def _extreme_codes(case, generator):
    """0 or the top code; in every other row of W the top code alone."""
    is_top = _integers(0, 1, (case.N, case.K), generator)
    is_top[::2] = 1
    return is_top * (2**case.code_bits - 1)


def _exponents(case, generator, highest=3):
    """Of scales: they change from row to row, and from group to group by 1."""
    rows, groups = _shape(case)
    return _integers(highest - 8, highest - 1, (rows, 1), generator) + _integers(
        0, int(groups > 1), (rows, groups), generator
    )


def _zeros(case, generator):
    top, shape = 2**case.code_bits - 1, _shape(case)
    if case.zeros in (ZERO, TOP):
        return torch.full(shape, float(top if case.zeros == TOP else 0))
    if case.zeros == FRACTIONS and case.data == RANDOM:
        return torch.rand(shape, generator=generator) * top
    if case.zeros == FRACTIONS:
        return _integers(0, top - 1, shape, generator) + 0.5
    beyond = top // 4 + 1 if case.zeros == BEYOND else 0
    return _integers(-beyond, top + beyond, shape, generator).float()


def _shape(case):
    """Of scales and zeros."""
    return (1 if case.scope == NUMBER else case.N, case.K // (case.group_size or case.K))


def _per_column(values, K):
    """Scales or zeros (N, groups) as float64 (N, K)."""
    return values.double().repeat_interleave(K // values.shape[1], dim=1)


def _assert_exact(case, x, codes, W_real, scales, zeros):
    """Raise unless every order of additions gives the same sums, and fp16 or bf16 holds exact y."""
    quanta = scales.amin(1).double() * _step_of_zeros(case) * x.abs().min()
    sums, terms = (reference.matmul(*f) / quanta for f in ((x, W_real), (x.abs(), W_real.abs())))
    assert terms.max() < 2**_FP32_BITS, f"{case}: not exact in fp32"
    if case.data == EXACT:
        assert sums.abs().max() < 2 ** _EXACT_BITS[case.x_dtype], f"{case}: y is not exact"
    if case.kernel == HALF2:
        weights = (codes - _per_column(zeros, case.K)).abs().max() / _step_of_zeros(case)
        in_a_half = -(-(32 // case.nbits) // 2)
        largest = in_a_half * weights * x.abs().max() / x.abs().min()
        assert largest < 2 ** _EXACT_BITS[torch.float16], f"{case}: not exact in half2"


def _integers(low, high, shape, generator):
    return torch.randint(low, high + 1, shape, generator=generator)
