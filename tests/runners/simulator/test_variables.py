"""Static and __device__ variables: one for all threads of all blocks, and kept between launches."""

import pytest
import torch

from gemlite_edu.kernels.errors import KernelTextError

BEFORE = """
__constant__ float table[4] = {1, 2, 3, 4};
__device__ float kept[4] = {1, 2, 3, 4}, scratch[64], one;
__device__ int calls, count;
template <typename T>
__device__ T last(T x) { static T before; T found = before; before = x; return found; }
__device__ float cached(float x) {
  static float value;
  static bool known;
  if (!known) { value = x; known = true; }
  return value;
}
"""
RIGHT = {
    "table": "static const float s[2] = {1, 2}; y[t] = s[t % 2] + table[t % 4] + kept[t % 4];",
    "constexpr": "static constexpr float s[2] = {1, 2}; y[t] = s[t % 2];",
    "scratch of a block": "scratch[t] = 5; __syncthreads(); y[t] = scratch[63 - t];",
    "scratch of a thread": "if (t == 9) { one = x[t]; y[t] = one; }",
    "atomic from 0": "if (t == 0) count = 0; __syncthreads(); atomicAdd(&count, 1);",
    "restored": "if (t == 0) { calls++; y[t] = calls; calls = 0; }",
    "half2": "static half2 h[2]; if (t < 2) h[t] = half2(1, 2); __syncthreads(); y[t] = h[0].y;",
}
RACES = {
    "static": "static float v[4]; v[t % 4] = x[t]; y[t] = v[t % 4];",
    "device": "one = x[t]; y[t] = one;",
    "pointer": "float* p = kept; p[t % 4] = 1;",
    "template": "y[t] = last(x[t]);",
    "half2": "static half2 h; h = half2(x[t], 2); y[t] = h.x;",
    "macro": "\n#define MINE one\nif (t > 30) MINE += x[t];\n",
}
KEPT = {
    "counter": "if (t == 0) calls++;",
    "cache": "if (t == 3) y[t] = cached(x[t]);",
    "atomic": "atomicAdd(&count, 1);",
    "static": "if (t == 0) { static float sum; sum += x[0]; y[0] = sum; }",
}
BLOCKS = {
    "both write": "if (t == 0) one = 1;",
    "one writes": "if (!t && blockIdx.x == 1) one = 1; else if (!t) y[64 * blockIdx.x] = one;",
    "the last writes": (
        "float v = kept[t % 4]; __syncthreads(); if (t + blockIdx.x == 3) kept[0] = v + 1;"
    ),
}


def test_tables_and_scratch_are_no_faults(inspect_each):
    found = inspect_each(RIGHT, before=BEFORE)
    assert {name: text for name, text in found.items() if text} == {}


def test_races_on_a_variable_are_faults(inspect_each):
    for name, text in inspect_each(RACES, before=BEFORE).items():
        assert "a static or __device__ variable is one for all threads" in text, (name, text)
        assert text.startswith("kernel.cpp, line ")


def test_a_value_that_stays_for_the_next_launch_is_a_fault(inspect_each):
    for name, text in inspect_each(KEPT, before=BEFORE).items():
        assert "keeps its value from one launch to the next" in text, (name, text)


@pytest.mark.parametrize("workers", [1, 2])
def test_races_of_blocks_do_not_depend_on_the_workers(inspect_each, workers):
    torch.set_num_threads(workers)
    found = inspect_each(BLOCKS, before=BEFORE, y=torch.zeros(256), grid=(4, 1))
    for name, text in found.items():
        assert "one for all threads of all blocks" in text, (name, text)
    assert (
        "block (1, 0), thread 0 writes one, which block (0, 0), thread 0, also"
        in found["both write"]
    )


@pytest.mark.parametrize(
    "statements, before",
    [
        ("static float v = x[t]; y[t] = v;", ""),
        ("y[t] = g;", "__device__ float g = sqrtf(blockDim.x);"),
    ],
)
def test_a_first_value_that_is_computed_is_refused(inspect, statements, before):
    with pytest.raises(KernelTextError, match=r"line \d: a static, __device__ .* takes a constant"):
        inspect(statements, before=before)
