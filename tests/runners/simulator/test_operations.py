"""Operations are counted per warp, without moves, and an intrinsic is one of them."""

import pytest
import torch

from gemlite_edu import load
from gemlite_edu.runners.simulator import Integer, Launch, Tensor, count_operations

_TEXT = """\
#include <cuda_fp16.h>
__global__ void kernel(const float* x, float* y, int N) {{
  float sum = 0.0f;
  {body}
  y[threadIdx.x] = sum;
}}
"""


def counted(body, threads=64, N=100):
    """The counts of a kernel with this body: one block."""
    x, y = torch.rand(1024), torch.empty(threads)
    arguments = [Tensor("x", x), Tensor("y", y, is_output=True), Integer(N)]
    return count_operations(
        _TEXT.format(body=body), "kernel", arguments, Launch((1, 1), threads), 10.0
    )


def added(body, **how):
    """The operations of a body beside those of an empty one."""
    return counted(body, **how).all - counted("", **how).all


def test_a_fused_product_is_one_operation_in_each_turn_of_each_warp():
    # a product with its sum, and the counter's sum, comparison and jump
    loop = "for (int i = 0; i < N; ++i) sum += x[i] * x[i + 1];"
    assert added(loop) == pytest.approx(2 * 100 * 4, rel=0.05)


def test_an_intrinsic_is_one_operation():
    per_turn = "for (int i = 0; i < N; ++i) sum += {};"
    plain, call = (added(per_turn.format(what)) for what in ("x[i]", "__fmul_rn(x[i], 2.0f)"))
    assert call - plain == pytest.approx(2 * 100, rel=0.05)


def test_a_lane_alone_costs_its_warp_as_much_as_all_lanes():
    alone = added("if (threadIdx.x == 0) for (int i = 0; i < N; ++i) sum += x[i];")
    together = added("if (threadIdx.x < 32) for (int i = 0; i < N; ++i) sum += x[i];")
    assert alone == together > 100


def test_operations_on_bits_are_told_apart():
    shifts = "unsigned bits = N; for (int i = 0; i < N; ++i) bits = (bits >> 1) ^ (bits & i);"
    found = counted(f"{shifts} sum = bits;")
    assert found.bits - counted("").bits >= 2 * 100 * 3


def test_a_basic_block_has_its_lines_and_how_often_a_warp_executes_it():
    """A pragma's loop is part of a turn, so that the turn's line is executed N times."""
    body = "#pragma unroll\n  for (int i = 0; i < 4; ++i) sum += x[i * N];"
    text = f'#line 1 "own.cu"\n  for (int k = 0; k < N; ++k) {{\n  {body}\n  }}'
    turns = [times for places, times in counted(text).executed if "own.cu:3" in places]
    assert max(turns) == 2 * 100


@pytest.mark.parametrize(("nbits", "least", "most"), [(8, 6, 10), (1, 5, 9)])
def test_a_gemv_takes_about_as_many_as_nvcc_makes(nbits, least, most):
    """nvcc makes 6.3 instructions of a 1-bit weight besides its load from shared memory."""
    kernel, N, K = load("gemv_a16wn_fp32", nbits=nbits), 32, 4096
    W = torch.zeros(kernel.layout(K).packed_shape(N, K), dtype=torch.int32)
    found = kernel.count_operations(torch.zeros(1, K).half(), W, 1.0, 1.0)
    assert least < found.all / (N * K / 32) < most
