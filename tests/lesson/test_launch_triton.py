"""`launch_triton`: a small Triton kernel of one's own in the interpreter."""

import pytest
import torch
import triton
import triton.language as tl

from gemlite_lab import launch_triton


@triton.jit
def doubled(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < N), mask=i < N)


@triton.jit
def unguarded(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@triton.jit
def first_numbers(y_ptr, N):
    for i in range(min(N, 3)):
        tl.store(y_ptr + i, i)


def test_every_program_runs_and_nothing_is_printed(capsys):
    x, y = torch.arange(10.0), torch.full((10,), torch.nan)
    launch_triton(doubled, (3,), x, y, 10, BLOCK=4)
    assert torch.equal(y, 2 * x) and capsys.readouterr().out == ""


def test_a_fault_is_printed_with_the_program_and_the_line(capsys):
    x, y = torch.arange(10.0), torch.zeros(10)
    launch_triton(unguarded, (3,), x, y, BLOCK=4)
    said = capsys.readouterr().out
    assert said.startswith("unguarded, program (2, 0, 0), `tl.store(")
    assert said.endswith("outside of its tensors: element 10 of x_ptr, which has 10\n")
    assert torch.equal(y[:8], x[:8])


def test_min_and_range_are_those_of_triton():
    y = torch.zeros(5)
    launch_triton(first_numbers, (1,), y, 5)
    assert y.tolist() == [0, 1, 2, 0, 0]


def test_a_function_that_is_not_jitted_runs_too():
    x, y = torch.arange(4.0), torch.zeros(4)
    launch_triton(unguarded.fn, (1,), x, y, BLOCK=4)
    assert torch.equal(y, x)


@pytest.mark.parametrize("grid", [3, (3.0,), [3]])
def test_a_grid_that_is_no_tuple_of_ints_is_refused(grid):
    with pytest.raises(TypeError, match="^grid must be a tuple of ints, such as .*, got"):
        launch_triton(doubled, grid, torch.zeros(1), torch.zeros(1), 1, BLOCK=1)


def test_a_tensor_that_is_not_on_the_cpu_is_refused():
    with pytest.raises(ValueError, match="CPU tensors, got one on meta: there, launch the kernel"):
        launch_triton(doubled, (1,), torch.zeros(1, device="meta"), torch.zeros(1), 1, BLOCK=1)
