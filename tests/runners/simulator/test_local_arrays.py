"""Reads and writes beyond a local variable, through pointers whose variable no compiler sees."""

from gemlite_edu.kernels.calls_in_hole import reached_by_own_lines

BEFORE = """
#define NEXT(p) (*(p)++)
template <typename T>
__device__ T total(const T* from, int k) { T s = 0; while (k-- > 0) s += *from++; return s; }
__device__ __noinline__ void fill(float* to, int k) { while (k-- > 0) *to++ = k; }
struct Pair { float a[3]; bool b[3]; };
"""
V = "const int k = int(x[3]); float v[4] = {x[t]}; float s = 0; "
BEYOND = {
    "macro": (
        "const float* p = v; for (int i = 0; i <= k; ++i) s += NEXT(p); y[t] = s;",
        "16 of v",
    ),
    "at an unknown place": ("y[t] = total(v + k - 1, 2);", "reads byte 16 of v"),
    "before": ("y[t] = total(v + k - 5, 1);", "reads byte -4 of v"),
    "far before": ("y[t] = total(v - 20 * k, 1);", "local memory that no variable has"),
    "chosen": (
        "float w[8] = {x[t]}; float* p = t % 2 ? v : w; for (int i = 0; i <= k; ++i) s += p[i];\n"
        "y[t] = s;",
        "thread 1 reads byte 16 of v",
    ),
    "function": ("fill(v, k + 1); y[t] = v[t % 4];", "writes byte 16 of v"),
    "one number": ("y[t] = total(&s, k);", "reads byte 4 of s, a local variable whose bytes go"),
    "memory": ("memcpy(v, x, 4 * k + 1); y[t] = v[t % 4];", "writes byte 16 of v"),
    "struct": (
        "Pair u = {{x[t]}}; const bool* p = u.b; for (int i = 0; i <= k; ++i) s += *p++; y[t] = s;",
        "reads byte 16 of u",
    ),
}
INSIDE = {
    "loop": "const float* p = v; for (int i = 0; i < k; ++i) s += NEXT(p); y[t] = s;",
    "from the end": "const float* p = v + k; while (p > v) s += *--p; y[t] = s;",
    "function": "fill(v, k); __syncthreads(); y[t] = total(v + k - 1, 1);",
    "memory": "float w[4]; memcpy(w, v, 4 * k); y[t] = w[t % 4];",
    "lanes": "float* p = v; while (p < v + k) s += __shfl_down_sync(~0u, *p++, k); y[t] = s;",
}


def test_what_lies_beyond_a_local_variable_is_a_fault(inspect_each):
    table = {name: V + text for name, (text, _) in BEYOND.items()}
    found = inspect_each(table, before=BEFORE)
    for name, (_, words) in BEYOND.items():
        assert words in found[name] and "kernel.cpp, line " in found[name], (name, found[name])


def test_what_lies_inside_is_none(inspect_each):
    found = inspect_each({name: V + text for name, text in INSIDE.items()}, before=BEFORE)
    assert {name: text for name, text in found.items() if text} == {}


SOURCE = """#line 1 "kernel.cu"
__device__ float sum_of(const float* v) {
  return v[0] + v[1];
}
__device__ float unused(const float* v) { return *v; }
// BEGIN HOLE mine
#line 1 "mine"
__device__ float mine(const float* v) { const float a = *v; return sum_of(&a + 3); }
#line 7 "kernel.cu"
// END HOLE
"""


def test_only_what_the_learners_lines_reach_is_looked_into():
    places = ["kernel.cu:2", "kernel.cu:4", "mine:1"]
    assert reached_by_own_lines(places, SOURCE) == ["kernel.cu:2", "mine:1"]
    assert reached_by_own_lines(["kernel.cpp:2"], "int j;\nint* i = &j;") == ["kernel.cpp:2"]
    without_address = SOURCE.replace("&a + 3", "v + 3")
    assert reached_by_own_lines(places, without_address) == []
