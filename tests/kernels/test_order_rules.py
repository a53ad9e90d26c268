"""No argument of a call may change what another argument of the call reads."""

import pytest

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.holes import check_text

NAME = "dequant_dot"
HEAD = "__device__ float dequant_dot(uint32_t word, const X_T* x, float zero)"
NEXT = "int n = 0; auto next = [&] { return n++; }; "
TAKE = "__device__ int take(int& n) { return n++; }\n__device__ int from(int* n) { return ++*n; }\n"
TAKE += "__device__ float next_of(const X_T*& p) { return to_float(*p++); }\n"
TWO_OF = "__device__ float two(float a, float b);\n" + TAKE


def check(inside):
    check_text(NAME, f"{TWO_OF}{HEAD} {{ int i = 0; {inside} return i; }}")


@pytest.mark.parametrize("inside", [
    NEXT + "two(next(), next());",
    NEXT + "two ( next (), 1 + next() );",
    NEXT + "two(next(),\n next());",
    NEXT + "two((next()), x[next()]);",
    NEXT + "make_float4(0, next(), 0, next());",
    NEXT + "__halves2half2(next(), next());",
    NEXT + "half2 both(next(), next());",
    NEXT + "fmaf(1.0f, next(), two(1.0f, next()));",
    NEXT + "return min(next(), next());",
    NEXT + "two(next(), /* , */ next());",
    "int n = 0; const auto next = [&n]() -> int { return n++; }; two(next(), next());",
    "int n = 0; auto next = [n]() mutable { return n++; }; two(next(), next());",
    "int n = 0; auto next = [=]() mutable -> int { return n++; }; two(next(), next());",
    "auto next = [k = 0]() mutable { return k++; }; two(next(), next());",
    "auto next = <:&:> <% return i++; %>; two(next(), next());",
    "auto next = [&] { i = i + 1; return i; }; two(next(), next());",
    "auto next = [&] { return i = i + 1; }; two(next(), next());",
    "auto next = [&] { const int n = i; i <<= n; return i; }; two(next(), next());",
    "auto next = [&] { i >>= 1; return i; }; two(next(), next());",
    "auto next = [&] { return take(i); }; two(next(), next());",
    "auto next = [&] { return atomicAdd(&i, 1); }; two(next(), next());",
    NEXT + "auto again = [&] { return next(); }; two(again(), again());",
    "two(take(i), take(i));",
    "two(from(&i), from(&i));",
    "two(take(i), from(&i));",
    "two(next_of(x), next_of(x));",
    "two(x[take(i)] * 2, -x[take(i)]);",
    "two(two(take(i), 1), take(i));",
    "if (two(take(i), take(i)) > 0) i = 0;",
])  # fmt: skip
def test_arguments_that_change_what_others_read_are_refused(inside):
    with pytest.raises(KernelTextError, match="C.. leaves open which comes first: nvcc begins"):
        check(inside)


@pytest.mark.parametrize("inside", [
    NEXT + "const int a = next(), b = next(); two(a, b);",
    NEXT + "const int both[] = {next(), next()};",
    NEXT + "two(next(), n);",
    NEXT + "two(next(), 1); two(1, next());",
    NEXT + "i = next() - next();",
    "auto at = [=](int j) { return word >> j; }; two(at(1), at(2));",
    "auto at = [&](int j) { return word >> j; }; two(at(1), at(2));",
    "auto at = [&](int j) { const int by = 2 * j; return word >> by; }; two(at(1), at(2));",
    "two(two(1, 2), two(3, 4));",
    "take(i), take(i);",
])  # fmt: skip
def test_others_are_not(inside):
    check(inside)
