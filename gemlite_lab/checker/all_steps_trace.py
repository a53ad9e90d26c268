"""Traces the calls of an answer to all_steps: it runs with functions that only note their step."""

from contextvars import Context
from dataclasses import dataclass

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.runners import simulator

CALLS = (
    "copy_step",
    "decode_step",
    "multiply_step",
    "__pipeline_commit",
    "__pipeline_wait_prior",
    "__syncthreads",
)
_MOST = 400
_TIME_LIMIT = 5.0

_BEFORE_THE_HOLE = """
static int* calls;  // of each thread: how many, then of each what, its number and its line
inline void note(int line, int what, int number) {{
  int* own = calls + threadIdx.x * (1 + 3 * {most});
  if (own[0] < {most}) {{
    int* call = own + 1 + 3 * own[0];
    call[0] = what, call[1] = number, call[2] = line;
  }}
  ++own[0];
}}
inline void note_copy(int line, const Problem&, Shared&, int step) {{ note(line, 0, step); }}
inline void note_decode(int line, Shared&, int step) {{ note(line, 1, step); }}
template <typename S>
void note_multiply(int line, const Shared&, int step, S&) {{ note(line, 2, step); }}
#define copy_step(...) note_copy(__LINE__, __VA_ARGS__)
#define decode_step(...) note_decode(__LINE__, __VA_ARGS__)
#define multiply_step(...) note_multiply(__LINE__, __VA_ARGS__)
#define __pipeline_commit() note(__LINE__, 3, 0)
#define __pipeline_wait_prior(left) note(__LINE__, 4, left)
#define __syncthreads() note(__LINE__, 5, 0)
"""
_AT_THE_END = """
static Shared not_read;
__global__ void kernel(int* notes, int K) {
  calls = notes;
  const Problem p = {nullptr, nullptr, 1, 1, K, 0, 0};
  Sums sums[FRAGMENTS_M][FRAGMENTS_N];
  all_steps(p, not_read, sums);
}
"""
_HOLE = "// BEGIN HOLE all_steps\n"


@dataclass(frozen=True)
class Call:
    """One call in an answer: the function, its number if it has one, and the line."""

    what: str
    number: int
    line: int


def trace(answer, K, defines, threads):
    """The `Call`s of each thread that `answer` makes for this K, in a build with these `defines`.

    Raises KernelTextError if the answer defines the names that replace the given functions, and
    KernelFault if it does not end.
    """
    text = sources.expand("gemm_a8w2_wmma", {"all_steps": answer})
    text = text.replace(_HOLE, _BEFORE_THE_HOLE.format(most=_MOST) + _HOLE) + _AT_THE_END
    library = simulator.build_kernel(text, "kernel", defines)
    notes = torch.zeros(threads, 1 + 3 * _MOST, dtype=torch.int32)
    arguments = [simulator.Tensor("notes", notes, is_output=True), simulator.Integer(K)]
    launch = simulator.Launch((1, 1), threads)
    # In an empty context, because no answer is checked in a process that is kept alive.
    Context().run(simulator.run_kernel, library, arguments, launch, _TIME_LIMIT)
    most = min(int(notes[:, 0].max()), _MOST)
    return [_calls(row) for row in notes[:, : 1 + 3 * most].tolist()]


def _calls(row):
    count = min(row[0], _MOST)
    numbers = zip(*(row[1 + part : 1 + 3 * count : 3] for part in range(3)), strict=True)
    return [Call(CALLS[what], number, line) for what, number, line in numbers]
