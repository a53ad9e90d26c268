"""Local variables that are read before anything was written to them."""

import pytest

HELPERS = """
__device__ void small(float* out, float x) { if (x < 10) *out = x; }
__device__ unsigned as_bits(float x) { unsigned bits; memcpy(&bits, &x, 4); return bits; }
__device__ float helper(float x) { float found; small(&found, x); return found; }
__device__ half2 half_of(float x) { half2 returned; returned.x = x; return returned; }
"""
UNWRITTEN = {
    "sum": "float sum; for (int i = 0; i < 4; ++i) sum += x[i + t % 8];\ny[t] = sum;",
    "v": "float v[4]; for (int i = 0; i < 3; ++i) v[i] = x[i];\ny[t] = v[t % 4];",
    "found": "y[t] = helper(x[t]);",
    "h": "half2 h;\nh.x = x[t]; y[t] = h.y;",
    "returned": "y[t] = half_of(x[t]).y;",
    "first": "y[t] = 1; int first; // by chance right\nif (first) y[t] = 1; else y[t] = 2;",
    "bits": "unsigned bits;\nbits |= as_bits(x[t]); y[t] = bits;",
    "s": "int s;\ny[t] = 7u >> s;",
}


@pytest.mark.parametrize("name", UNWRITTEN)
def test_a_local_variable_that_nothing_wrote_is_named(inspect, name):
    report, _ = inspect(UNWRITTEN[name], before=HELPERS)
    assert f"the kernel reads {name}, a local variable to which nothing was" in str(
        report.findings[0]
    )
    assert name in report.findings[0].code


WRITTEN = """
float word;  // the other lanes take it from lane 0
if (t % 32 == 0) word = x[t];
word = __shfl_sync(0xFFFFFFFFu, word, 0);
float v[9];
for (int i = 0; i < 9; ++i) v[i] = x[i];
float w[4];
w[t % 4] = 1;
unsigned bits;
memcpy(&bits, &x[t], 4);
union { float f; unsigned u; } both;
both.f = x[t];
struct { float a, b; } pair;
pair.a = x[t];
float unused;
y[t] = word + v[t % 9] + w[t % 4] + bits + both.u + pair.a;
"""


def test_what_is_written_before_it_matters_is_no_fault(inspect):
    report, _ = inspect(WRITTEN)
    assert report.findings == ()
