"""Functions that take addresses in one memory alone, with addresses in other memory."""

import torch

BEFORE = """
#include <cuda_pipeline.h>
__constant__ float table[4] = {1, 2, 3, 4};
__device__ float kept[4] = {1, 2, 3, 4};
template <typename T>
__device__ T fetch(const T* from) { return __ldg(from); }
"""
GLOBAL = {
    "a tensor": "y[t] = __ldg(x + t); __stcs(y + t, __ldcv(y + t));",
    "a copy from a variable": (
        "__shared__ float d[64]; __pipeline_memcpy_async(d + t, kept + t % 4, 4);"
        "__pipeline_commit(); __pipeline_wait_prior(0); y[t] = d[t];"
    ),
    "a variable": "y[t] = __ldcs(kept + t % 4);",
    "a table of a function": "static const float s[2] = {1, 2}; y[t] = fetch(s + t % 2);",
}
OTHERS = {
    "shared": "__shared__ float a[64]; a[t] = 1; y[t] = __ldg(&a[t]);",
    "shared, chosen": "__shared__ float b[64]; b[t] = 1; y[t] = __ldcs((t % 2 ? x : b) + t);",
    "local": "float v = x[t]; y[t] = __ldcs(&v);",
    "constant": "y[t] = __ldcg(table + t % 4);",
    "shared, stored": "__shared__ float c[64]; __stcs(&c[t], x[t]); y[t] = 1;",
    "local, in a template": "float v[2] = {1, x[t]}; y[t] = fetch(v + t % 2);",
}


def test_only_global_memory_is_reached_by_what_a_gpu_lets_reach_no_other(inspect_each):
    found = inspect_each(GLOBAL | OTHERS, before=BEFORE)
    assert [name for name in GLOBAL if found[name]] == []
    for name in OTHERS:
        space = name.partition(",")[0]
        assert f"thread 0 gives an address in {space} memory" in found[name]
        assert "such as __ldg" in found[name] and found[name].startswith("kernel.cpp, line ")


def test_the_local_variable_of_another_thread_is_out_of_reach(inspect):
    report, _ = inspect(
        "__shared__ float* p; float v = x[t]; if (!t) p = &v;\n__syncthreads(); y[t] = *p;"
    )
    assert "thread 1 reaches a local variable of another thread" in report.findings[0].sentence


def test_what_only_a_host_has_is_named(inspect):
    report, _ = inspect('if (!t) fprintf(stderr, "x"); y[t] = 1;')
    assert "uses stderr of the host's C library" in report.findings[0].sentence


def test_what_is_nowhere_defined_is_named(inspect):
    report, _ = inspect("y[t] = f(x[t]);", before="__device__ float f(float x);")
    assert report.findings[0].sentence.startswith("the text uses f(float), which it declares and")


ADDRESSES = """
__shared__ int first[4], second[200];
first[t % 4] = second[t] = 1;
const unsigned at[] = {unsigned(__cvta_generic_to_shared(first)),
                       unsigned(__cvta_generic_to_shared(second + t)),
                       unsigned(__cvta_generic_to_shared(second + 200)) - 1};
y[t] = 0;
for (unsigned place : at) y[t] += place >= 1024 && place < 228 << 10;
y[t] += at[1] % 4 == 0 && __cvta_shared_to_generic(at[1] + 8) == second + t + 2;
"""


def test_addresses_in_shared_memory_are_in_the_range_of_a_gpu(inspect, launch):
    report, _ = inspect(f"if (t < 4) {{ {ADDRESSES} }} else y[t] = 4;")
    assert (report.y == 4).all() and report.findings == ()
    text = f"__global__ void kernel(float* y) {{ const int t = threadIdx.x; {ADDRESSES} }}"
    assert (launch(text, {"y": torch.zeros(4)}, threads=4) == 4).all()


def test_an_address_outside_shared_memory_has_none_there(inspect_each):
    found = inspect_each(
        {
            "global": "y[t] = __cvta_generic_to_shared(x) < 5;",
            "local": "float v = x[t]; y[t] = __cvta_generic_to_shared(&v) < 5;",
        }
    )
    for space, sentence in found.items():
        assert f"an address in {space} memory: it takes one in shared memory" in sentence
