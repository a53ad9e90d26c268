"""What C++ leaves undefined is a fault: a GPU and a CPU may do differently there."""

import pytest

from gemlite_edu.kernels.errors import KernelTextError

BEFORE = """
#define COUNT(T, i) (static_cast<T>(36) + (i))
typedef unsigned Word;
__constant__ float table[4] = {1, 2, 3, 4};
template <typename T>
__device__ T take(const T* from, int i) { return from[i]; }
__device__ float last(float first, int i) { float v[4] = {first}; return take(v, i); }
struct Pair { float a[4], b; };
#define BYTE_OF(b) reinterpret_cast<unsigned char&>(b)
#define PROMISE(condition) __builtin_assume(condition)
struct Answers { bool first, second; };
"""
SHIFTS = {
    "right": ("y[t] = 7u >> (36 + t);", "32 bits by 36"),
    "left, negative": ("y[t] = int(x[t]) << (-1 - t);", "32 bits by -1"),
    "64 bits": ("y[t] = 7ull << (60 + t);", "64 bits by 64"),
    "promoted": ("unsigned char c = t; y[t] = c >> int(x[t]);", "32 bits by 32"),
    "macro": ("y[t] = Word(t) >> COUNT(long, t);", "32 bits by 36"),
    "in place": ("Word w = t; w <<= 32 * (t / 8); y[t] = w;", "32 bits by 32"),
}
CASTS = {
    "negative": ("y[t] = Word(-x[t]);", "converts -1 to an unsigned integer of 32 bits"),
    "a byte": ("y[t] = static_cast<unsigned char>(x[t] * 10);", "converts 260 to an unsigned"),
    "large": ("y[t] = int(x[t] * 1e9f);", "converts 3e+09 to a signed integer of 32 bits"),
    "NaN": ("y[t] = int(sqrtf(-x[t]));", "nan to a signed integer of 32 bits, which cannot hold"),
    "double": ("y[t] = (long long)(x[t] * 1e20);", "converts 1e+20 to a signed integer of 64"),
    "half": ("y[t] = Word(half(-x[t]));", "converts -1 to an unsigned"),
    "shuffle": (
        "y[t] = __shfl_down_sync(~0u, 16, x[t] - 2);",
        "gives a shuffle -1 as the lane offset: offset and value are exchanged",
    ),
    "shuffle, mask last": ("y[t] = __shfl_up_sync(x[t] - 2, 1, ~0u);", "the mask, the value and"),
    "shuffle into a whole number": (
        "Word w = __shfl_down_sync(~0u, x[t] - 9, 1); y[t] = w;",
        "converts -7 to an unsigned",
    ),
    "shuffle of whole numbers": (
        "y[t] = __shfl_down_sync(~0u, (unsigned)(x[t] - 2), 1);",
        "converts -1 to an unsigned",
    ),
}
OVERFLOWS = {
    "sum": ("int a = 2147483600 + t; y[t] = a + 20;", "in a signed number of 32 bits"),
    "difference": ("int a = -2147483647; y[t] = a - t;", "computes -2147483647 - 2 in a signed"),
    "product": ("int a = t << 15; y[t] = a * a;", "computes 65536 * 65536 in a signed number"),
    "negation": ("int a = -2147483647 - 1 + t; y[t] = -a;", "computes -(-2147483648) in a"),
    "quotient": (
        "int a = -2147483647 - 1 + t, b = t / 50 - 1; y[t] = a / b;",
        "computes -2147483648 / -1 in",
    ),
    "by zero": ("y[t] = 7 / t;", "divides an integer by zero"),
    "remainder": ("y[t] = 7 % t;", "divides an integer by zero"),
}
ARRAYS = {
    "read": ("float v[4] = {x[t]}; y[t] = v[t];", "index 4 of an array declared as float [4]"),
    "write": ("float v[4] = {x[t]}; v[t] = 1; y[t] = v[t % 4];", "index 4 of an array"),
    "before": ("float v[4] = {x[t]}; y[t] = v[3 - t];", "index -1 of an array"),
    "row": ("float v[2][4] = {{x[t]}}; y[t] = v[0][t % 8];", "index 4 of an array"),
    "in a struct": ("Pair p = {{x[t]}}; y[t] = p.a[t % 5];", "index 4 of an array"),
    "row, shared": (
        "__shared__ float a[4][16]; a[t / 16][t % 16] = 1; __syncthreads(); y[t] = a[0][t];",
        "index 16 of an array declared as float [16]",
    ),
    "table": ("y[t] = table[t];", "index 4 of an array"),
    "pointer": ("float v[4] = {x[t]}; float* p = v + 1; y[t] = p[t];", "reaches beyond the array"),
    "chosen": (
        "float v[4] = {x[t]}, w[4] = {}; float* p = t % 2 ? v : w; y[t] = p[4];",
        "reaches beyond the array",
    ),
    "function": ("y[t] = last(x[t], t);", "reaches beyond the array"),
    "pairs": ("half2 v[4] = {}; y[t] = float(v[t].x);", "declared as half, half2 or alike [4]"),
    "misaligned": (
        "unsigned char v[16] = {}; v[t % 16] = 1; y[t] = *reinterpret_cast<int*>(v + 1 + t % 9);",
        "4 bytes of local memory that do not begin at a multiple of 4",
    ),
    "atomic": ("int v = t; atomicAdd(&v, 1); y[t] = v;", "an atomic operation in local memory"),
    "width": ("y[t] = __shfl_sync(~0u, x[t], 0, 3);", "shuffles in parts of 3 lanes"),
    "a number": ("float v = x[t]; y[t] = (&v)[t % 2];", "reaches beyond the array or variable"),
    "fields": ("float4 v = make_float4(x[t], 2, 3, 4); y[t] = (&v.x)[t % 5];", "reaches beyond"),
}
BOOLS = {
    "copied": (
        "bool b; const int c = 2 * t; memcpy(&b, &c, 1); y[t] = b;",
        "a bool whose byte is 2",
    ),
    "pointer": ("int c = 2 * t; y[t] = *reinterpret_cast<bool*>(&c);", "bool whose byte is 2"),
    "struct": ("Answers a = {}; memset(&a, 7, 2); y[t] = !a.second;", "a bool whose byte is 7"),
    "cast": ("unsigned char c = 3; y[t] = __builtin_bit_cast(bool, c);", "bool whose byte is 3"),
    "shared": (
        "__shared__ bool s[64]; BYTE_OF(s[t]) = t; __syncthreads(); y[t] = s[63 - t];",
        "reads a bool whose byte is 63",
    ),
    "unwritten": (
        "__shared__ bool s[64]; if (t < 9) s[t] = true; __syncthreads(); y[t] = s[t];",
        "reads s[9], which no thread has written before",
    ),
}
PROMISES = {
    "assumed": ("__builtin_assume(t < 9); y[t] = t;", "thread 9 assumes what is not so"),
    "macro": ("PROMISE(x[t] < 9); y[t] = t;", "thread 8 assumes what is not so"),
    "pointer": ("auto p = &__builtin_assume; p(t); y[t] = t;", "thread 0 assumes what is not so"),
    "aligned": (
        "y[t] = *(float*)__builtin_assume_aligned(x + 1, 16);",
        "says __builtin_assume_aligned of an address that has another alignment",
    ),
    "unreachable": ("if (t == 3) __builtin_unreachable(); y[t] = t;", "calls unreachable"),
}


@pytest.mark.parametrize("table", [SHIFTS, CASTS, OVERFLOWS, ARRAYS, BOOLS, PROMISES])
def test_what_is_undefined_is_a_fault_with_its_line(inspect_each, table):
    found = inspect_each({name: text for name, (text, _) in table.items()}, before=BEFORE)
    for name, (text, words) in table.items():
        assert words in found[name], (name, found[name])
        where, _, rest = found[name].partition(": ")
        assert where.startswith("kernel.cpp, line "), found[name]
        is_in_helper = name == "function"
        assert is_in_helper or rest.endswith(text + " }") or text in rest, found[name]


DEFINED = {
    "to the sign": "y[t] = (int(t) << 28) >> 28;",
    "out of the sign": "y[t] = 1 << (t % 32);",
    "wraps": "Word w = 4000000000u + t; y[t] = w * w + w;",
    "the last": "float v[4] = {x[t]}; y[t] = v[t % 4] + *(v + 3);",
    "fraction": "y[t] = Word(-0.5f) + int(-2147483648.0f);",
    "dp4a wraps": "y[t] = __dp4a(0x7F7F7F7F, 0x7F7F7F7F, 2147483647);",
    "bools": "bool b[4] = {}; b[t % 4] |= 2; __shared__ bool s[64]; s[t] = b[0]; y[t] = s[t];",
    "true": "__builtin_assume(t < 64); y[t] = *(float*)__builtin_assume_aligned(x + 1, 16, 4);",
    "bits": "const uint4 v = {1, 2, 3, 4}; y[t] = __builtin_bit_cast(ulonglong2, v).x;",
    "whole": "float4 v = make_float4(x[t], 2, 3, 4); float4* p = &v; y[t] = p->w;",
}


def test_what_is_defined_is_none(inspect_each):
    assert {name: text for name, text in inspect_each(DEFINED, before=BEFORE).items() if text} == {}


def test_a_loop_that_waits_for_an_unsigned_number_below_0_is_named(inspect):
    down = "y[t] = 0;\nfor (unsigned i = 7; i >= 0; --i) {\n  LEAVE\n  y[t] += 7u >> i;\n}\n"
    report, _ = inspect(down.replace("LEAVE", ""))
    assert "line 6: this loop does not end, because its counter is unsigned" in str(
        report.findings[0]
    )
    assert "shifts a number of 32 bits by 4294967295" in str(report.findings[1])
    report, _ = inspect(down.replace("LEAVE", "if (i == 0) break;") + "y[t] += 7u >> n;")
    assert "shifts a number of 32 bits by 64" in str(report.findings[0])


ENDLESS = {
    "while": "unsigned w = t; while (w & 1) {}",
    "for": "for (unsigned i = t; i != 2000; i += 2) {}",
    "do": "unsigned w = t; do { w = w * 3 % 7 + 1; } while (w);",
    "empty": "if (t == 5) for (;;) {}",
}


def test_a_loop_without_effect_that_does_not_end_stays(inspect_each):
    found = inspect_each(ENDLESS, time_limit=0.05)
    assert ["did not end within 0.05 s" in text for text in found.values()] == [True] * 4


@pytest.mark.parametrize(
    "statements, words",
    [
        ("float v[n]; v[t] = 1; y[t] = v[t];", "needs the length of an array as a constant"),
        ("if (n == 5) throw 5; y[t] = 1;", "CUDA has no exceptions"),
    ],
)
def test_what_a_gpu_has_not_is_refused_by_the_compiler(inspect, statements, words):
    with pytest.raises(KernelTextError, match=words):
        inspect(statements)
