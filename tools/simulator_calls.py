"""Measure how long a call of a learner's GEMV takes in the simulator, and what each row adds.

python tools/simulator_calls.py

4-bit weights (N, 384), for M rows of x: in a new process for each call, and in one that
`simulator.kept_alive` keeps. A time is the least of several calls: above it is other work of the
machine. The row with N = 32 is one block; the others show how a call grows with its output rows.
"""

import os
import time
from contextlib import nullcontext

import torch

from gemlite_edu import load, simulator

K, GROUP_SIZE = 384, 64
PROBLEMS = ((1, 32), (1, 384), (1, 2048), (1, 9000), (8, 384), (8, 2048), (8, 9000))  # (M, N)
REPLACE = {
    "dequant_dot": """
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < CODES_PER_GROUP; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += (static_cast<float>(code) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}
"""
}
_CALLS = 5


def call_of(kernel, M, N):
    """A call of the kernel, with no arguments."""
    words = torch.randint(-(2**31), 2**31, kernel.layout(K).packed_shape(N, K), dtype=torch.int32)
    scales, zeros = torch.rand(2, N, K // GROUP_SIZE)
    x = torch.randn(M, K).half()
    return lambda: kernel(x, words, scales.contiguous(), zeros.contiguous())


def least_ms(call, context):
    """The milliseconds of the fastest call within the context, after one that is not counted."""
    times = []
    with context:
        for _ in range(_CALLS + 1):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return 1000 * min(times[1:])


def table(kernel, problems):
    """The lines of a table in Markdown."""
    cores = len(os.sched_getaffinity(0))
    yield f"{cores} cores, {torch.get_num_threads()} workers; K = {K}, a scale for {GROUP_SIZE}"
    yield "\n| M | N | a new process, ms | a kept one, ms | us for an output |"
    yield "|---|---|---|---|---|"
    for M, N in problems:
        call = call_of(kernel, M, N)
        new, kept = least_ms(call, nullcontext()), least_ms(call, simulator.kept_alive())
        yield f"| {M} | {N} | {new:.1f} | {kept:.1f} | {1000 * kept / (M * N):.1f} |"


def main():
    kernel = load("gemv_a16wn_fp32", 4, replace=REPLACE, group_size=GROUP_SIZE)
    for line in table(kernel, PROBLEMS):
        print(line)


if __name__ == "__main__":
    main()
