"""The pieces of CUDA in course_probes.txt, and one CUDA text that runs them all."""

import re
from pathlib import Path
from typing import NamedTuple


class Probe(NamedTuple):
    """A piece of CUDA, and a Python expression of the thread t for the value that it gives."""

    code: str
    value: str

    def value_of(self, thread):
        return int(eval(self.value, {"t": thread}))

    @property
    def statements(self):
        return self.code if ";" in self.code else f"r = {self.code};"


def _read():
    """([Probe, ...], {what the simulator does not have: a word of the sentence about it})"""
    text = Path(__file__).with_suffix(".txt").read_text()
    probes, refused = re.sub(r"\n +", " ", text).split("## not simulated")
    return [Probe(*pair) for pair in _pairs(probes)], dict(_pairs(refused))


def _pairs(text):
    """The two sides of each line that has " => " and is no comment."""
    return [line.split(" => ") for line in re.findall(r"^[^#\n].* => .*", text, re.MULTILINE)]


PROBES, NOT_SIMULATED = _read()
_SIGNATURE = "__device__ void probe_{}(int t, const float* x, int* box, long long& r)"

_TEXT = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>
namespace cg = cooperative_groups;

__constant__ int table[4] = {0, 10, 20, 30};
__device__ __forceinline__ int twice(int v) { return 2 * v; }
__device__ __noinline__ int not_inlined(int v) { return v + 1; }
static __device__ __inline__ int inlined(int v) { return v + 2; }
template <int n>
__device__ int power(int base) {
  if constexpr (n == 0) return 1;
  else return base * power<n - 1>(base);
}
template <typename... Numbers>
__device__ int sum_of(Numbers... numbers) { return (numbers + ...); }
template <typename T>
struct Point {
  static constexpr int sides = 4;
  T x, y;
  __device__ T area() const { return x * y; }
};
template <typename Function>
__device__ int apply(Function function, int v) { return function(v); }

PROBES
__global__ void __launch_bounds__(32) kernel(const float* x, long long* y, int* boxes) {
  int* box = boxes + 32 * blockIdx.x;
  box[threadIdx.x] = 0;
  __syncthreads();
  long long r = 0;
  switch (blockIdx.x) {
CASES
  }
  y[32 * blockIdx.x + threadIdx.x] = r;
}
"""


def text():
    """The CUDA text of all probes: block i of its kernel(x, y, boxes) runs probe i."""
    probes = [f"{_SIGNATURE.format(i)} {{ {p.statements} }}" for i, p in enumerate(PROBES)]
    cases = [f"    case {i}: probe_{i}(threadIdx.x, x, box, r); break;" for i in range(len(PROBES))]
    return _TEXT.replace("PROBES", "\n".join(probes)).replace("CASES", "\n".join(cases))
