"""CUDA's functions of numbers, and one CUDA text that computes all of them for given operands.

tools/record_intrinsics.py runs the text on a GPU, test_recorded_intrinsics.py in the simulator.
"""

import base64
import hashlib
from typing import NamedTuple

import torch

EXACT = 0
MODES = ("rn", "rz", "ru", "rd")
TO_ONE_SIDE = MODES[1:]
HALF, BFLOAT16, FLOAT, DOUBLE, INT, LONG = "half", "bfloat16", "float", "double", "int", "long long"
UNSIGNED, UNSIGNED_LONG, SHORT, USHORT = "unsigned", "unsigned long long", "short", "unsigned short"
PAIR, BFLOAT16_PAIR = "half2", "__nv_bfloat162"
_C_NAMES = {BFLOAT16: "__nv_bfloat16"}
# The operands of a type are those of its kind; the first two kinds are tried exhaustively.
_KINDS = {
    HALF: 0, SHORT: 0, USHORT: 0, BFLOAT16: 1, FLOAT: 2, DOUBLE: 3, INT: 4, UNSIGNED: 4,
    LONG: 5, UNSIGNED_LONG: 5, PAIR: 6, BFLOAT16_PAIR: 7,
}  # fmt: skip
_EXHAUSTIVE_KINDS, _ALL_KINDS = 2, 8
COUNT, EVERY = 4096, 65536
SHOWN = 64  # values kept of each function; a hash stands for all of them


class Function(NamedTuple):
    """A function of up to three operands; ulps: how far its result may be from a GPU's."""

    name: str
    operands: tuple[str, ...]
    ulps: int = EXACT

    @property
    def key(self):
        return f"{self.name}({', '.join(self.operands)})"

    @property
    def is_exhaustive(self):
        return len(self.operands) == 1 and _KINDS[self.operands[0]] < _EXHAUSTIVE_KINDS


def _of(operands, names, ulps=EXACT):
    return [Function(name, operands, ulps) for name in names.split()]


def _conversions():
    others = {"int": INT, "uint": UNSIGNED, "ll": LONG, "ull": UNSIGNED_LONG}
    short = {"short": SHORT, "ushort": USHORT}
    for mode in MODES:
        for name, integer in (others | short).items():
            for sixteen in (HALF, BFLOAT16):
                yield Function(f"__{sixteen}2{name}_{mode}", (sixteen,))
                yield Function(f"__{name}2{sixteen}_{mode}", (integer,))
        for name, integer in others.items():
            yield Function(f"__float2{name}_{mode}", (FLOAT,))
            yield Function(f"__double2{name}_{mode}", (DOUBLE,))
            yield Function(f"__{name}2float_{mode}", (integer,))
        yield Function(f"__double2float_{mode}", (DOUBLE,))
        for sixteen in (HALF, BFLOAT16):
            yield Function(f"__float2{sixteen}_{mode}", (FLOAT,))
    for sixteen in (HALF, BFLOAT16):
        yield from _of((sixteen,), f"__{sixteen}2float __{sixteen}2char_rz __{sixteen}2uchar_rz")
        yield Function(f"__double2{sixteen}", (DOUBLE,))


def _sixteen_bits(one, two):
    yield from _of(
        (one,),
        "__hneg __habs __hisnan __hisinf hceil hfloor htrunc hrint hsqrt hrsqrt hrcp hexp hexp2 "
        "hexp10 hlog hlog2 hlog10 hsin hcos",
    )
    arithmetic = (
        "__hadd __hsub __hmul __hadd_rn __hsub_rn __hmul_rn __hadd_sat __hsub_sat __hmul_sat"
    )
    minima = "__hmin __hmax __hmin_nan __hmax_nan"
    yield from _of((one, one), f"{arithmetic} {minima} __hdiv")
    yield from _of((one,) * 3, "__hfma __hfma_sat __hfma_relu")
    compared = [f"{name}{u}" for name in ("eq", "ne", "lt", "le", "gt", "ge") for u in ("", "u")]
    yield from _of((one, one), " ".join(f"__h{name}" for name in compared))
    for form in ("__h{}2", "__hb{}2", "__h{}2_mask"):
        yield from _of((two, two), " ".join(form.format(name) for name in compared))
    of_two = "__hadd2 __hsub2 __hmul2 __h2div __hadd2_sat __hsub2_sat __hmul2_sat"
    yield from _of((two, two), f"{of_two} __hmin2 __hmax2 __hmin2_nan __hmax2_nan")
    yield from _of((two,) * 3, "__hfma2 __hfma2_sat __hfma2_relu __hcmadd")
    yield from _of((two,), "__hneg2 __habs2 __hisnan2 h2sqrt h2rcp h2rsqrt h2exp h2log __low2float")


def _simd():
    compared = "eq ne ges gts les lts geu gtu leu ltu".split()
    two = "vadd vaddss vaddus vsub vsubss vsubus vavgs vavgu vhaddu vmaxs vmaxu vmins vminu"
    two = f"{two} vabsdiffs vabsdiffu vsads vsadu".split()
    two += [f"{form}{name}" for form in ("vcmp", "vset") for name in compared]
    for number in (2, 4):
        yield from _of((UNSIGNED,) * 2, " ".join(f"__{name}{number}" for name in two))
        yield from _of(
            (UNSIGNED,), " ".join(f"__{n}{number}" for n in ("vabs", "vabsss", "vneg", "vnegss"))
        )


def _integers():
    yield from _of((INT,), "__clz __ffs")
    yield from _of((UNSIGNED,), "__popc __brev")
    yield from _of((LONG,), "__clzll __ffsll __longlong_as_double")
    yield from _of((UNSIGNED_LONG,), "__popcll __brevll")
    yield from _of((UNSIGNED,) * 3, "__byte_perm __usad __dp4a __dp2a_lo __dp2a_hi")
    shifts = "__funnelshift_l __funnelshift_r __funnelshift_lc __funnelshift_rc"
    yield from _of((UNSIGNED,) * 3, shifts)
    yield from _of((INT, INT, UNSIGNED), "__sad")
    yield from _of((INT,) * 3, "__dp4a __dp2a_lo __dp2a_hi")
    yield from _of((INT,) * 2, "__mul24 __mulhi __hadd __rhadd __hiloint2double")
    yield from _of((UNSIGNED,) * 2, "__umul24 __umulhi __uhadd __urhadd")
    yield from _of((LONG,) * 2, "__mul64hi")
    yield from _of((UNSIGNED_LONG,) * 2, "__umul64hi")


def _floats():
    for mode in MODES:
        yield from _of(
            (FLOAT,) * 2, " ".join(f"__f{n}_{mode}" for n in ("add", "sub", "mul", "div"))
        )
        yield from _of((FLOAT,), f"__frcp_{mode} __fsqrt_{mode}")
        yield from _of((FLOAT,) * 3, f"__fmaf_{mode}")
    yield from _of((FLOAT,), "__frsqrt_rn __saturatef")
    yield from _of((DOUBLE,) * 2, "__dadd_rn __dsub_rn __dmul_rn __ddiv_rn")
    yield from _of((DOUBLE,), "__drcp_rn __dsqrt_rn __double2hiint __double2loint")
    yield from _of((DOUBLE,) * 3, "__fma_rn")
    # CUDA C++ Programming Guide, "Mathematical Functions", bounds their errors.
    yield from _of((FLOAT,), "rsqrtf rcbrtf sinpif cospif", ulps=4)
    yield from _of((FLOAT,) * 2, "__fdividef", ulps=4)


FUNCTIONS = sorted(
    [
        *_conversions(),
        *_sixteen_bits(HALF, PAIR),
        Function("htanh", (HALF,)),
        *_sixteen_bits(BFLOAT16, BFLOAT16_PAIR),
        *_simd(),
        *_integers(),
        *_floats(),
    ],
    key=lambda function: not function.is_exhaustive,
)
EXHAUSTIVE = [function for function in FUNCTIONS if function.is_exhaustive]

# Each stands by itself, because compilers take long over one large function.
_FUNCTION = """
__device__ __noinline__ unsigned long long f{}(const unsigned long long* in, int count, int i) {{
  return result({});
}}"""
_TEXT = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__device__ T operand(const unsigned long long* in, int kind, int which, int count, int i) {
  const unsigned long long bits = in[(kind * 3 + which) * count + i];
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
template <typename T>
__device__ unsigned long long bits_of(T value) {
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
// Any value that is no number counts as the same.
__device__ unsigned long long result(float v) { return v == v ? bits_of(v) : 0x7FFFFFFF; }
__device__ unsigned long long result(double v) { return v == v ? bits_of(v) : 0x7FFFFFFFFFFFFFFF; }
__device__ unsigned long long result(half v) { return __hisnan(v) ? 0x7FFF : bits_of(v); }
__device__ unsigned long long result(__nv_bfloat16 v) { return __hisnan(v) ? 0x7FFF : bits_of(v); }
__device__ unsigned long long result(half2 v) { return result(v.y) << 16 | result(v.x); }
__device__ unsigned long long result(__nv_bfloat162 v) { return result(v.y) << 16 | result(v.x); }
template <typename T>
__device__ unsigned long long result(T v) { return bits_of(v); }

FUNCTIONS
// out[f, i] = function f of the operands i, in (kinds of operands, 3, count).
__global__ void kernel(const unsigned long long* in, unsigned long long* out, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    unsigned long long bits = 0;
    switch (blockIdx.y) {
CASES
    }
    out[blockIdx.y * count + i] = bits;
  }
}
"""


def text():
    """The CUDA text of all functions; its __global__ function is kernel(in, out, count)."""
    functions = [_FUNCTION.format(i, _call(f)) for i, f in enumerate(FUNCTIONS)]
    cases = [f"      case {i}: bits = f{i}(in, count, i); break;" for i in range(len(FUNCTIONS))]
    return _TEXT.replace("FUNCTIONS", "".join(functions)).replace("CASES", "\n".join(cases))


def _call(function):
    operands = [
        f"operand<{_C_NAMES.get(kind, kind)}>(in, {_KINDS[kind]}, {which}, count, i)"
        for which, kind in enumerate(function.operands)
    ]
    return f"{function.name}({', '.join(operands)})"


def operands_of(function):
    """(up to 3, 4096): the bits of the chosen operands of a function."""
    kinds = [_KINDS[kind] for kind in function.operands]
    return torch.stack([chosen_operands()[kind, which] for which, kind in enumerate(kinds)])


def every_operand():
    """(2, 3, 65536): as operand 0 each half and each bfloat16."""
    operands = torch.zeros(_EXHAUSTIVE_KINDS, 3, EVERY, dtype=torch.int64)
    operands[:, 0] = torch.arange(EVERY)
    return operands


def chosen_operands():
    """(8, 3, 4096): of each kind its edge cases with each other, then random ones."""
    generator = torch.Generator().manual_seed(0)
    random = torch.randint(-(2**63), 2**63 - 1, (_ALL_KINDS, 3, COUNT), generator=generator)
    operands = torch.zeros_like(random)
    numbers = torch.randn(3, COUNT, generator=generator, dtype=torch.float64)
    numbers *= 2.0 ** torch.randint(-12, 36, (3, COUNT), generator=generator)
    is_number = torch.rand(3, COUNT, generator=generator) < 0.5
    small = random[4] % 64
    for kind, dtype in enumerate((torch.float16, torch.bfloat16, torch.float32, torch.float64)):
        near = _bits(numbers.clamp(-65504, 65504).to(dtype) if kind == 0 else numbers.to(dtype))
        operands[kind] = torch.where(is_number, near, _low_bits(random[kind], dtype.itemsize))
    operands[4] = torch.where(is_number, small, _low_bits(random[4], 4))
    operands[5] = torch.where(is_number, small, random[5])
    for kind, edges in _EDGES.items():
        _cross(operands[kind], edges)
    for pair, one in ((6, 0), (7, 1)):
        operands[pair] = operands[one] | operands[one].roll(1, -1) << 16
    return operands


def _bits(values):
    kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[values.dtype.itemsize]
    return _low_bits(values.view(kind).long(), values.dtype.itemsize)


def _low_bits(bits, size):
    return bits if size == 8 else bits & (1 << 8 * size) - 1


def _cross(operands, edges):
    """Put each edge case beside each other one, and a third that changes, into (3, count)."""
    edges = torch.tensor(edges)
    first, second = torch.meshgrid(edges, edges, indexing="ij")
    n = first.numel()
    operands[0, :n], operands[1, :n] = first.flatten(), second.flatten()
    operands[2, :n] = edges[torch.arange(n) * 7 % len(edges)]


def _float_edges(dtype, *values):
    info = torch.finfo(dtype)
    values = [0.0, info.tiny, info.tiny * info.eps, 1.0, 1 + info.eps, 0.5, 2.5, info.max, *values]
    values = torch.tensor([*values, float("inf")], dtype=torch.float64)
    return [
        *_bits(torch.cat([values, -values]).to(dtype)).tolist(),
        *_bits(values[:1] / 0).tolist(),
    ]


_INTEGERS = (0, 1, 2, 31, 32, 33, 255, 256, 2**15 - 1, 2**15, 2**16 - 1, 2**24 + 1)
_EDGES = {
    0: _float_edges(torch.float16, 255.5, 2047.0),
    1: _float_edges(torch.bfloat16, 255.0, 65536.0),
    2: _float_edges(torch.float32, 2.0**31, 2.0**32, 65519.99, 65520.0, 2.0**-25, 1.1754942e-38),
    3: _float_edges(torch.float64, 2.0**31 - 0.5, 2.0**63, 2.0**64, 1 + 2.0**-24, 1 + 2.0**-11),
    4: [*_INTEGERS, 2**31 - 1, 2**31, 2**32 - 1, 0x80808080, 0x7FFF8000, 0x00FF7F80],
    5: [*_INTEGERS, 2**31, 2**32, 2**53 + 1, 2**62 + 1, 2**63 - 1, -(2**63), -1, -(2**31) - 1],
}


def record(every, chosen):
    """{key of a function: what is kept of its results}, from the text's two outputs.

    every: (exhaustive functions, 65536), chosen: (functions, 4096), both int64.
    """
    found = {f.key: {"values": _packed(c[:SHOWN])} for f, c in zip(FUNCTIONS, chosen, strict=True)}
    for function, results in zip(FUNCTIONS, chosen, strict=True):
        if function.ulps == EXACT:
            found[function.key]["hash"] = _hash(results)
    for function, results in zip(EXHAUSTIVE, every, strict=True):
        found[function.key]["hash of all"] = _hash(results)
    return found


def _hash(results):
    return hashlib.sha256(results.contiguous().numpy().tobytes()).hexdigest()[:16]


def _packed(results):
    """Base64 of the results, of 4 bytes each if that is enough for all of them."""
    wide = results.numpy()
    narrow = wide.astype("<u4")
    return base64.b64encode((narrow if (narrow == wide).all() else wide).tobytes()).decode()


def unpacked(packed):
    """The results that `_packed` has packed, as int64."""
    data = bytearray(base64.b64decode(packed))
    dtype = torch.int64 if len(data) == 8 * SHOWN else torch.uint32
    return torch.frombuffer(data, dtype=dtype).to(torch.int64)
