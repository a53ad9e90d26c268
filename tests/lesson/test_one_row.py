"""A whole kernel that a learner writes: its operands, its launch, and what is said of its text."""

from pathlib import Path

import pytest
import torch

from gemlite_edu import bounds, pack_warped_int32, quantize_linear, reference
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_lab import one_row_kernel

RIGHT = (Path(__file__).parent.parent / "right/fused_gemv/plain.cu").read_text()


def operands(N=33, K=300, nbits=4, dtype=torch.float16):
    generator = torch.Generator().manual_seed(0)
    q = quantize_linear(torch.randn(N, K, generator=generator), nbits)
    x = torch.randn(1, K, generator=generator).to(dtype)
    return x, q, (pack_warped_int32(q.W_q, nbits), q.scales, q.zeros)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_call_and_an_inspection_give_the_product(dtype):
    x, q, others = operands(dtype=dtype)
    kernel = one_row_kernel(RIGHT, nbits=4, x_dtype=dtype)
    report = kernel.inspect(x, *others)
    W = q.dequantize(torch.float64)
    error = (report.y.double() - reference.matmul(x, W)).abs()
    assert (error <= bounds.error_bound(x, W, dtype)).all()
    assert not report.findings
    assert torch.equal(kernel(x, *others), report.y)


def test_the_report_counts_the_learner_s_lines():
    x, _, others = operands(K=512)
    report = one_row_kernel(RIGHT, nbits=4).inspect(x, *others)
    (words,) = report.of("W")
    assert words.place == "gemv:15" and report.per_request("W") == 4
    assert not report.recorded


def test_a_block_has_room_for_x_with_its_padding():
    kernel = one_row_kernel(RIGHT, nbits=4)
    launch = kernel.plan(N=33, K=300).product
    assert launch.grid == (2, 1) and launch.threads == 1024
    assert launch.shared_bytes == 512 * 2
    assert launch.integers == (33, 300)


def test_one_row_of_x_is_asked_for():
    x, _, others = operands()
    with pytest.raises(ValueError, match=r"one row of x, got M = 2: call it for each x\[m : m"):
        one_row_kernel(RIGHT, nbits=4)(x.repeat(2, 1), *others)


def test_an_x_too_long_for_shared_memory_is_refused():
    with pytest.raises(ValueError, match="x of K = 200000, padded to 200192, takes 400384 bytes"):
        one_row_kernel(RIGHT, nbits=4).plan(N=1, K=200_000)


@pytest.mark.parametrize(
    "text, sentence",
    [
        (RIGHT.replace("__global__", "__device__"), "gemv is a kernel: say __global__ before"),
        (
            RIGHT.replace("gemv(", "mine("),
            r"the text for gemv must define the function gemv\(...\)",
        ),
        (RIGHT.replace("sum +=", "total +="), "gemv, line 19: 'total' was not declared"),
    ],
)
def test_a_text_that_is_no_such_kernel_is_explained(text, sentence):
    x, _, others = operands()
    with pytest.raises(KernelTextError, match=sentence):
        one_row_kernel(text, nbits=4).inspect(x, *others)
