"""What the interpreter finds in a launch: races, reads of nothing, values a GPU leaves open."""

import re

import pytest
import torch
import triton.language as tl

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.runners.interpreter.loads import count_loads
from gemlite_edu.runners.interpreter.watched import doubts_postponed
from gemlite_edu.runners.triton import launch


def run(kernel, programs=4, x=None):
    """y (256,) of a kernel of (x_ptr, y_ptr), which starts as NaN."""
    from triton.runtime.interpreter import InterpretedFunction

    x, y = torch.arange(64.0) if x is None else x, torch.full((256,), torch.nan)
    launch(InterpretedFunction(kernel), True, (programs,), x, y, watched=True)
    return y


def all_store_the_same(x_ptr, y_ptr):
    tl.store(y_ptr + 7, 3.0)


def blocks_overlap(x_ptr, y_ptr):
    i = tl.program_id(0) * 15 + tl.arange(0, 16)
    tl.store(y_ptr + i, tl.load(x_ptr + i))


def reads_a_neighbour(x_ptr, y_ptr):
    p = tl.program_id(0)
    tl.store(y_ptr + p, p * 1.0)
    tl.store(y_ptr + p + 8, tl.load(y_ptr + tl.maximum(p - 1, 0)))


def stores_what_another_read(x_ptr, y_ptr):
    p = tl.program_id(0)
    tl.store(x_ptr + p, tl.load(x_ptr + p + 1))


def reads_what_others_add(x_ptr, y_ptr):
    tl.atomic_add(x_ptr, 1.0)
    tl.store(y_ptr + tl.program_id(0), tl.load(x_ptr))


def adds_to_what_one_stored(x_ptr, y_ptr):
    if tl.program_id(0) == 0:
        tl.store(x_ptr, 0.0)
    tl.atomic_add(x_ptr, 1.0)


def through_a_descriptor(x_ptr, y_ptr):
    rows = tl.make_tensor_descriptor(y_ptr, [32], [1], [16])
    rows.store([tl.program_id(0) * 4], tl.full((16,), 1.0, tl.float32))


def through_bytes(x_ptr, y_ptr):
    i = tl.program_id(0) * 8 + tl.arange(0, 16)
    tl.store(y_ptr.to(tl.pointer_type(tl.int8)) + i, (i * 0).to(tl.int8))


@pytest.mark.parametrize(
    "kernel, did",
    [
        (all_store_the_same, "writes element 7 of y_ptr, which program (0, 0, 0) has written"),
        (blocks_overlap, "writes element 15 of y_ptr, which program (0, 0, 0) has written"),
        (reads_a_neighbour, "reads element 0 of y_ptr, which program (0, 0, 0) has written"),
        (stores_what_another_read, "writes element 1 of x_ptr, which program (0, 0, 0) has read"),
        (reads_what_others_add, "changes element 0 of x_ptr, which program (0, 0, 0) has read"),
        (adds_to_what_one_stored, "changes element 0 of x_ptr, which program (0, 0, 0) has writ"),
        (through_a_descriptor, "writes element 4 of y_ptr, which program (0, 0, 0) has written"),
        (through_bytes, "writes element 2 of y_ptr, which program (0, 0, 0) has written"),
    ],
)
def test_programs_that_race_are_named(kernel, did):
    with pytest.raises(KernelFault) as caught:
        run(kernel)
    assert str(caught.value).startswith(f"{kernel.__name__}, program (1, 0, 0), `")
    assert did in str(caught.value) and ", and nothing orders two programs" in str(caught.value)


def test_two_launches_are_in_order():
    x = torch.arange(64.0)
    for _ in range(2):
        run(stores_what_another_read, programs=1, x=x)
    assert x[0] == 1


def own_elements_twice(x_ptr, y_ptr):
    i = tl.program_id(0) * 8 + tl.arange(0, 8)
    tl.store(y_ptr + i, tl.load(x_ptr + i))
    tl.store(y_ptr + i, tl.load(y_ptr + i) + 1)


def atomics_alone(x_ptr, y_ptr):
    tl.atomic_add(x_ptr + tl.arange(0, 16), 1.0)


def masks_that_divide(x_ptr, y_ptr):
    i = tl.arange(0, 16)
    tl.store(y_ptr + i // 2 * 2, i // 2 * 1.0, mask=i // 4 == tl.program_id(0))


def masks_by_one_number(x_ptr, y_ptr):
    i, p = tl.arange(0, 16), tl.program_id(0)
    few = (i < 10) & (p == 1)
    tl.store(y_ptr + i, tl.load(x_ptr + 1_000_000 * (1 - p) + i, mask=few, other=0.0), mask=few)


@pytest.mark.parametrize(
    "kernel", [own_elements_twice, atomics_alone, masks_that_divide, masks_by_one_number]
)
def test_programs_that_keep_apart_pass(kernel):
    run(kernel)


def lanes_disagree(x_ptr, y_ptr):
    i = tl.arange(0, 16)
    tl.store(y_ptr + i // 2, i * 1.0)


def nothing_written(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(y_ptr + 20))


def nothing_to_add_to(x_ptr, y_ptr):
    tl.atomic_add(y_ptr + 3, 1.0)


@pytest.mark.parametrize(
    "kernel, sentence",
    [
        (lanes_disagree, "lanes write different values to element 0 of y_ptr at once"),
        (nothing_written, "reads element 20 of y_ptr, which nothing has written"),
        (nothing_to_add_to, "changes element 3 of y_ptr, which nothing has written"),
    ],
)
def test_one_program_is_enough_for_a_fault(kernel, sentence):
    with pytest.raises(KernelFault, match=sentence):
        run(kernel, programs=1)


def sums_lanes_masked_off(x_ptr, y_ptr):
    i = tl.arange(0, 16)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + i, mask=i < 10)))


def greatest_of_lanes_masked_off(x_ptr, y_ptr):
    i = tl.arange(0, 16)
    tl.store(y_ptr, tl.max(tl.load(x_ptr + i, mask=i < 10)))


def shifts_too_far(x_ptr, y_ptr):
    i = tl.arange(0, 16)
    tl.store(y_ptr + i, (i << (i * 4)).to(tl.float32))


def divides_by_zero(x_ptr, y_ptr):
    i = tl.arange(0, 16)
    tl.store(y_ptr + i, (7 // i).to(tl.float32))


def bytes_of_negative_numbers(x_ptr, y_ptr):
    i = tl.arange(0, 16)
    tl.store(y_ptr + i, (tl.load(x_ptr + i) - 3).to(tl.uint8).to(tl.float32))


@pytest.mark.parametrize(
    "kernel, cause",
    [
        (sums_lanes_masked_off, "loads with a mask and without `other`"),
        (greatest_of_lanes_masked_off, "loads with a mask and without `other`"),
        (shifts_too_far, "shifts a number of 32 bits by 32"),
        (divides_by_zero, "divides an integer by 0"),
        (bytes_of_negative_numbers, "makes -3.0 a number of type uint8"),
    ],
)
def test_a_result_that_depends_on_undefined_values_is_a_fault(kernel, cause):
    with pytest.raises(KernelFault, match=cause) as caught:
        run(kernel, programs=1)
    assert str(caught.value).endswith("A GPU leaves that undefined, and y_ptr depends on it")
    with doubts_postponed() as doubts:
        run(kernel, programs=1)
    assert [cause in str(doubt) for doubt in doubts] == [True]


def undefined_lanes_are_dropped(x_ptr, y_ptr):
    i = tl.arange(0, 16)
    x = tl.load(x_ptr + i, mask=i < 10)
    tl.store(y_ptr + i, tl.where(i < 4, x, 0.0).to(tl.int32) << (i * 8), mask=i < 4)


def test_undefined_values_that_nothing_depends_on_are_none_of_our_business():
    x = torch.arange(64.0)
    with count_loads({"x": x}) as loads:
        y = run(undefined_lanes_are_dropped, programs=1, x=x)
    assert y[:4].tolist() == [0, 1 << 8, 2 << 16, 3 << 24] and y[4:].isnan().all()
    assert loads["x"].times == 1


def knows_where_it_runs(x_ptr, y_ptr):
    tl.store(y_ptr, (x_ptr.to(tl.int64) >> 40) * 1.0)


def promises_too_much(x_ptr, y_ptr):
    tl.store(y_ptr + tl.max_contiguous(tl.arange(0, 8) * 2, 2), 1.0)


def promises_multiples(x_ptr, y_ptr):
    tl.store(y_ptr + tl.multiple_of(tl.arange(0, 8) + 1, 2), 1.0)


def promises_a_constant(x_ptr, y_ptr):
    tl.store(y_ptr + tl.max_constancy(tl.arange(0, 8), 4), 1.0)


def asks_whether_a_block_is_true(x_ptr, y_ptr):
    if tl.load(x_ptr + tl.arange(0, 8)) > 0:
        tl.store(y_ptr, 1.0)


@pytest.mark.parametrize(
    "kernel, why",
    [
        (knows_where_it_runs, "makes a number of an address, which is another one on a GPU"),
        (promises_too_much, "tl.max_contiguous promises 2, which is not true here"),
        (promises_multiples, "tl.multiple_of promises 2, which is not true here"),
        (promises_a_constant, "tl.max_constancy promises 4, which is not true here"),
        (asks_whether_a_block_is_true, "a tensor of 8 elements is neither true nor false"),
    ],
)
def test_what_only_the_interpreter_would_take_is_refused(kernel, why):
    with pytest.raises(Exception, match=re.escape(why)):
        run(kernel, programs=1)


def promises_what_is_true(x_ptr, y_ptr):
    for i in tl.range(2):
        at = tl.max_contiguous(tl.multiple_of(i * 8 + tl.arange(0, 8), 8), 8)
        group = tl.max_constancy((at // 4)[:, None], [4, 1])
        tl.store(y_ptr + at[:, None] + group * 0 + i.to(tl.int64) * 0, 1.0)


def test_true_promises_and_casts_of_a_count_pass():
    assert run(promises_what_is_true, programs=1)[:16].tolist() == [1.0] * 16
