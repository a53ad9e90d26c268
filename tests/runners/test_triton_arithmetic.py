"""Where Python's arithmetic and a GPU's differ, the interpreter does as a GPU does."""

import numpy as np
import pytest
import torch
import triton.language as tl

from gemlite_edu.runners.interpreter.loop_numbers import LoopNumber, counted
from gemlite_edu.runners.interpreter.tensor_cores import rounded
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


def test_tensor_cores_take_eleven_bits():
    numbers = np.array([2047, 2049, 2050, -2051, 1 / 3, np.inf], dtype=np.float32)
    assert rounded(numbers)[:4].tolist() == [2047, 2050, 2050, -2052]
    assert abs(rounded(numbers)[4] - 1 / 3) < 2**-12 / 2 and np.isinf(rounded(numbers)[5])


def test_products_of_a_watched_kernel_are_rounded_unless_it_asks_for_more():
    from triton.runtime.interpreter import InterpretedFunction

    def product(x_ptr, y_ptr, precision: tl.constexpr):
        i = tl.arange(0, 16)
        x = tl.load(x_ptr + i[:, None] * 16 + i[None, :])
        tl.store(y_ptr + i[:, None] * 16 + i[None, :], tl.dot(x, x, input_precision=precision))

    x = torch.eye(16) * 2049
    for precision, factor in (("tf32", 2050), ("ieee", 2049)):
        y = torch.full((16, 16), torch.nan)
        launch(InterpretedFunction(product), True, (1,), x, y, precision, watched=True)
        assert torch.equal(y, torch.eye(16) * factor**2)
