"""No spelling lets an answer tell the simulator from a GPU: about 20 of each class."""

from pathlib import Path

import pytest

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_lab.checker.same_on_a_gpu import refuse_what_differs_on_a_gpu

SIGNATURE = "__device__ float dequant_dot(uint32_t word, const X_T* x, float zero)"
RIGHT = sorted((Path(__file__).parent.parent / "right").rglob("*.cu"))


def text_of(condition, before=""):
    return f"{before}\n{SIGNATURE} {{\n  if ({condition}) return 1.0f;\n  return zero;\n}}\n"


def refusal(condition, before=""):
    try:
        refuse_what_differs_on_a_gpu("dequant_dot", text_of(condition, before))
    except KernelTextError as error:
        return str(error)
    return ""


LONG_DOUBLES = [
    *("sizeof(long double) > 8", "sizeof(double long) > 8", "sizeof(long const double) > 8"),
    *("sizeof(1.0L) > 8", "sizeof(1e0l) > 8", "sizeof(.5L) > 8", "sizeof(0x1p0L) > 8"),
    *("alignof(long double) > 8", "sizeof(1.L + 1) > 8", "sizeof(decltype(1'0.0L)) > 8"),
    *(
        "sizeof(lo\\\nng double) > 8",
        "sizeof(long/* */double) > 8",
        "sizeof(double volatile long) > 8",
    ),
    *("(long double)0.1 != 0.1", "std::numeric_limits<long double>::digits > 53"),
]
LONG_DOUBLES_BEFORE = [
    ("sizeof(L) > 8", "typedef long double L;"),
    ("sizeof(L) > 8", "using L = double long;"),
    ("sizeof(LONG double) > 8", "#define LONG long"),
    ("sizeof(BOTH(long, double)) > 8", "#define BOTH(a, b) a b"),
    ("sizeof(GLUE(1.0, L)) > 8", "#define GLUE(a, b) a##b"),
    ("sizeof(S) > 8", "struct S { const long double v; };"),
    (
        "wide(0)",
        "template <typename T> __device__ bool wide(T) { return sizeof(long double) > 8; }",
    ),
]
CLOCKS = [
    *("clock64() < 0", "clock() < 0", "::clock64() < 0", "(clock64)() < 0", "(*clock64)() < 0"),
    *("clock\\\n64() < 0", "clock64/**/() < 0", "decltype(clock64()){} == clock64()"),
    *("(&clock64)() < 0", "+clock64 != nullptr", "[] { return clock64(); }() < 0"),
]
CLOCKS_BEFORE = [
    ("CLOCK() < 0", "#define CLOCK clock64"),
    ("GLUE(clo, ck64)() < 0", "#define GLUE(a, b) a##b"),
    ("CALL(clock64) < 0", "#define CALL(f) f()"),
    ("now() < 0", "__device__ long long now() { return clock64(); }"),
    ("now<int>() < 0", "template <typename T> __device__ T now() { return clock(); }"),
    ("S().now() < 0", "struct S { __device__ long now() { return clock(); } };"),
    ("S::now() < 0", "struct S { static __device__ long now() { return clock(); } };"),
    ("ask(clock64) < 0", "template <typename F> __device__ auto ask(F f) { return f(); }"),
    ("NOW < 0", "#define NOW clock\\\n64()"),
]
TRAITS = [
    *("__is_trivial(float4)", "__is_pod(half)", "__is_aggregate(dim3)", "__is_empty(dim3)"),
    *("__is_trivially_copyable(half2)", "__is_standard_layout(half2)", "__is_literal_type(half)"),
    *("__has_trivial_copy(float4)", "__is_constructible(float4, float, float)", "__is_enum(half)"),
    *("std::is_trivial<float4>::value", "std::is_pod_v<half>", "std::is_aggregate_v<float4>"),
    *("std::is_trivially_copyable<A>::value", "std::is_constructible<float4, float>{}()"),
    *("std::is_convertible_v<float, half>", "std::is_nothrow_constructible_v<half2, half2>"),
    *(
        "std::is_invocable_v<decltype(min), int, int>",
        "std::has_unique_object_representations_v<half>",
    ),
    *(
        "std :: is_trivial\\\nly_copyable_v<A>",
        "noexcept(__syncthreads())",
        "noexcept(half2(half()))",
    ),
]
TRAITS_BEFORE = [
    ("ASK(trivial)(float4)", "#define ASK(what) __is_##what"),
    ("is_trivial_v<float4>", "using namespace std;"),
    ("plain<float4>", "template <class T> constexpr bool plain = std::is_trivially_copyable_v<T>;"),
    ("Plain<float4>::value", "template <class T> using Plain = std::is_trivial<T>;"),
]
SAFE = "template <class T> __device__ auto f(T v) -> decltype(v.split(), true) { return true; }"
OVERLOADS = [
    ("f(float4())", f"{SAFE}\n__device__ bool f(...) {{ return false; }}"),
    ("f(float4())", f"__device__ bool f(...) {{ return false; }}\n{SAFE}"),
    (
        "has<float4>::value",
        "template <class T, class = void> struct has { static const bool value = false; };\n"
        "template <class T> struct has<T, std::void_t<decltype(T(1.0f, 2.0f))>> "
        "{ static const bool value = true; };",
    ),
    (
        "g<float4>(0)",
        "template <class T, int = sizeof(T(1.0f, 2.0f))> __device__ bool g(int) { return true; }\n"
        "template <class T> __device__ bool g(...) { return false; }",
    ),
    (
        "g<float4>(0)",
        "#define ASKS decltype(T(1.0f, 2.0f))\n"
        "template <class T, class = ASKS> __device__ bool g(int) { return true; }\n"
        "template <class T> __device__ bool g(...) { return false; }",
    ),
    (
        "g<float4>(0)",
        "template <class T> __device__ bool g(char (*)[sizeof(T(1.0f, 2.0f))]) { return true; }\n"
        "template <class T> __device__ bool g(...) { return false; }",
    ),
    (
        "g<float4>(0)",
        "template <class T> __device__ bool g(T v) noexcept(T(1.0f, 2.0f)) { return true; }\n"
        "template <class T> __device__ bool g(...) { return false; }",
    ),
]
STRINGS = ['"a" == "a"', '"abc" < "abd"', '("x" != "x")', '"b" - "a" > 0']
APPROXIMATE = [
    *("__sinf(1e5f) == sinf(1e5f)", "__fdividef(word, 41.0f) < 3", "sinf(zero) == 0.5f"),
    *("(__expf)(zero) > 1", "(*__expf)(zero) > 1", "(&__logf)(zero) > 1", "::__cosf(zero) > 0"),
    *("__si\\\nnf(zero) > 0", "__sinf/* */(zero) > 0", "std::exp(zero) > 1", "exp(zero) > 1"),
    *("rsqrtf(zero) * rsqrtf(zero) == 1 / zero", "static_cast<int>(__log2f(word)) == 3"),
    *("[] { return __powf(2, 3); }() == 8", "std :: tanh(zero) > 0", "j0(zero) > 0"),
]
APPROXIMATE_BEFORE = [
    ("FAST(sin)(zero) > 0", "#define FAST(g) __##g##f"),
    ("FAST(zero) > 0", "#define FAST __cosf"),
    ("CALL(__tanf) > 0", "#define CALL(f) f(1.0f)"),
    ("fast(zero) > 0", "__device__ float fast(float v) { return __expf(v); }"),
    ("fast<float>(zero) > 0", "template <class T> __device__ T fast(T v) { return erff(v); }"),
    ("ask(expf) > 0", "template <class F> __device__ float ask(F f) { return f(1.0f); }"),
    ("ask(1, exp) > 0", "__device__ double ask(int, double (*f)(double)) { return f(1.0); }"),
    ("half_of(zero) > 0", "__device__ double (*half_of)(double) = tgamma;"),
    ("S()(zero) > 0", "struct S { __device__ float operator()(float v) { return __log10f(v); } };"),
    ("tan(zero) > 0", "using namespace std;"),
    (
        "sine(&zero)",
        "__device__ bool sine(float* v) { float c; __sincosf(*v, v, &c); return c > 0; }",
    ),
]


@pytest.mark.parametrize(
    "spellings",
    [
        [*((text, "") for text in LONG_DOUBLES), *LONG_DOUBLES_BEFORE],
        [*((text, "") for text in CLOCKS), *CLOCKS_BEFORE],
        [*((text, "") for text in TRAITS), *TRAITS_BEFORE],
        [*OVERLOADS, *((text, "") for text in STRINGS)],
        [*((text, "") for text in APPROXIMATE), *APPROXIMATE_BEFORE],
    ],
    ids=["long double", "clock", "traits", "overloads", "approximate"],
)
def test_no_spelling_of_what_differs_passes(spellings):
    assert [spelling for spelling in spellings if not refusal(*spelling)] == []


def test_a_refusal_names_the_line_and_what_to_do():
    assert refusal("clock64() < 0") == (
        "the text for dequant_dot asks clock64 for the time: what comes of it may differ on a GPU, "
        "and an answer does without (line 2)"
    )


@pytest.mark.parametrize(
    ("condition", "before"),
    [
        ("std::is_same<X_T, half>::value", ""),
        ("std::is_same_v<decltype(zero), float>", ""),
        ("sizeof(float4) == 16 && sizeof(long) == 8 && 10L > 1", ""),
        ("0x1eL > 1 && 1.0 > 0.5f", ""),
        ("twice(zero) > 1", "__device__ float twice(float v) noexcept { return 2 * v; }"),
        (
            "sum(1, 2) > 1",
            "template <class T> __device__ auto sum(T a, T b) -> decltype(a + b) { return a + b; }",
        ),
        (
            "go<3>() > 1",
            "template <int N> __device__ int go() { return go<N - 1>(); }\n"
            "template <> __device__ int go<0>() { return 0; }",
        ),
        ("__frcp_rn(zero) > __fsqrt_rn(zero) && fmaf(zero, zero, 1.0f) > sqrtf(zero)", ""),
        ("pow(2, 3) == 8 && powf(2.0f, 3) == exp2f(3) && log2f(8) == 3", ""),
        ("power(1) > 0", "__device__ int power(int exp) { int y0, y1 = exp; y0 = y1; return y0; }"),
        ("s.exp > 0 && tan > 0", "struct { int exp; } s; __device__ const float *tan = nullptr;"),
        ('printf("%s", zero > 0 ? "a" : "b") > 1', ""),
    ],
)
def test_what_is_the_same_everywhere_passes(condition, before):
    assert refusal(condition, before) == ""


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_right_answer_is_refused(path):
    refuse_what_differs_on_a_gpu(path.parent.name, path.read_text())
