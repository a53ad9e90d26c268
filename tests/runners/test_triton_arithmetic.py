"""Where Python's arithmetic and a GPU's differ, the interpreter does as a GPU does."""

import pytest
import torch
import triton.language as tl

from gemlite_edu.runners.interpreter.loop_numbers import LoopNumber, counted
from gemlite_edu.runners.triton import launch, replaced


def test_a_quotient_of_loop_numbers_drops_its_fraction():
    for left in range(-9, 10):
        for right in (-4, -1, 2, 7):
            quotient = int(left / right)
            number = LoopNumber(left)
            assert number // right == quotient and number % right == left - right * quotient
            assert left // LoopNumber(right) == quotient
            assert type(number - 1) is type(3 * number) is type(-number) is LoopNumber


def test_loop_numbers_wrap_around():
    assert LoopNumber(2**30) * 4 == 0
    assert LoopNumber(2**31 - 1) + 1 == -(2**31)
    assert LoopNumber(1) << 31 == -(2**31)
    assert [type(number) for number in counted(1, 5, 2)] == [LoopNumber] * 2


def of_python(y_ptr):
    for i in range(3):
        tl.store(y_ptr + i, (i - 3) // 2 * 1.0)


def of_triton(y_ptr):
    for i in tl.range(0, 3, num_stages=2):
        tl.store(y_ptr + i, (i - 3) // 2 * 1.0)


@pytest.mark.parametrize("kernel", [of_python, of_triton])
def test_loops_of_a_kernel_count_so(kernel):
    y = torch.full((3,), torch.nan)
    launch(replaced("gemm_splitk", True, {"gemm_splitk": kernel}), True, (1,), y)
    assert y.tolist() == [-1, -1, 0]


def chooses(y_ptr):
    at = tl.arange(0, 4)
    tl.store(y_ptr + at, max(min(at, 2), 1) * 1.0)


def test_min_and_max_choose_element_by_element():
    y = torch.full((4,), torch.nan)
    launch(replaced("gemm_splitk", True, {"gemm_splitk": chooses}), True, (1,), y)
    assert y.tolist() == [1, 1, 2, 2]


def multiplies(y_ptr):
    at = tl.arange(0, 16)
    rows = tl.zeros((16, 16), tl.float32) + at[:, None] / 8
    columns = tl.zeros((16, 16), tl.float32) + at[None, :]
    products = tl.dot(rows.to(tl.bfloat16), columns.to(tl.bfloat16))
    tl.store(y_ptr + at[:, None] * 16 + at[None, :], products)


def test_a_dot_multiplies_the_values_of_bf16_and_not_their_bits():
    y = torch.full((16, 16), torch.nan)
    launch(replaced("gemm_splitk", True, {"gemm_splitk": multiplies}), True, (1,), y)
    at = torch.arange(16.0)
    assert torch.equal(y, 16 * (at / 8)[:, None] * at)
