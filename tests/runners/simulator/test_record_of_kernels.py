"""What the record says of the course's kernels: functions, phases, writers, copies, products."""

import pytest
import torch

from gemlite_edu import Window, load, pack_bitnet_2bit, quantize_linear, quantize_ternary


@pytest.fixture(scope="module")
def ternary():
    """The first steps of the first warp of gemm_a8w2_wmma."""
    torch.manual_seed(0)
    W_q = quantize_ternary(torch.randn(32, 2048)).W_q
    x = torch.randint(-127, 128, (16, 2048)).to(torch.int8)
    report = load("gemm_a8w2_wmma").inspect(x, pack_bitnet_2bit(W_q), window=Window(steps=80))
    return report.record.steps


@pytest.fixture(scope="module")
def fast():
    """The record of the first warp of gemv_a16wn_fast: one step along K, then y."""
    torch.manual_seed(0)
    kernel = load("gemv_a16wn_fast", nbits=4, group_size=128)
    q = quantize_linear(torch.randn(16, 512), nbits=4, group_size=128)
    operands = kernel.pack(q.W_q, q.scales, q.zeros)
    window = Window(steps=1000)
    return kernel.inspect(torch.randn(1, 512).half(), *operands, window=window).record


def parts(steps, depth=2):
    """The functions that many calls deep, in the order of the steps, each run of them once."""
    names = [step.calls[-depth][0] if len(step.calls) >= depth else "" for step in steps]
    return [name for i, name in enumerate(names) if i == 0 or name != names[i - 1]]


def test_a_step_knows_the_functions_around_it(ternary):
    first = ternary[0]
    assert [name for name, _ in first.calls] == [
        *("copy_16_async", "copy_x", "copy_step", "all_steps", "gemm")
    ]
    assert first.calls[0] == ("copy_16_async", first.place) == ("copy_16_async", "copies.cuh:17")
    assert dict(first.calls)["all_steps"].startswith("gemm_a8w2_wmma.cu:")


def test_copies_are_on_their_way_from_one_step_to_a_wait(ternary):
    steps = ternary
    ops = [step.op for step in steps]
    assert ops[:6].count("async_load") == ops[:6].count("async_store") == 3
    assert [steps[i].op for i in (6, 13, 14)] == ["commit", "commit", "wait"]
    assert (steps[6].lanes, steps[14].lanes) == (tuple(range(32)),) * 2
    assert steps[0].copies == {}
    assert steps[6].copies == {0: 3 * 32}
    assert steps[14].copies == {0: 3 * 32, 1: 3 * 32}
    assert (steps[14].left, steps[15].copies) == (1, {1: 3 * 32})


def test_a_step_is_copied_while_another_is_decoded_and_one_is_multiplied(ternary):
    second = [step for step in ternary if step.phase == 1]
    assert [name for name in parts(second, depth=3) if name] == [
        *("copy_step", "decode_step", "multiply_step")
    ]
    multiplied = [step for step in second if "multiply_step" in dict(step.calls)]
    assert all(step.copies == {2: 3 * 32} for step in multiplied)


def test_products_of_fragments_hold_their_sums(ternary):
    products = [step for step in ternary if step.op == "mma_sync"]
    assert len(products) == 8 and {len(step.values) for step in products} == {32}
    assert {len(sums) for step in products for sums in step.values.values()} == {8}
    assert products[0].values != products[2].values  # of the same sums


def test_decoded_words_are_those_that_the_lane_copied_itself(ternary):
    decoded = next(step for step in ternary if step.op == "load" and step.space == "shared")
    assert decoded.writers == {lane: lane for lane in range(32)}
    multiplied = [step for step in ternary if "multiply_step" in dict(step.calls)]
    assert {t // 32 for step in multiplied for t in step.writers.values()} > {0}


def test_the_parts_of_the_fast_kernel(fast):
    found = [name for name in parts(fast.steps) if name]
    assert found == ["fetch_x", "load_step", "prepare_x", "add_step", "hand_in"]
    assert fast.steps[0].op == "async_load"


def test_shuffles_that_stand_in_for_an_instruction_are_one_step(fast):
    products = [step for step in fast.steps if step.op == "mma.sync"]
    assert {step.merged for step in products} == {32}
    assert {step.calls[0][0] for step in products} == {"multiply_plane"}
    assert {step.code.partition("(")[0] for step in products} == {"multiply_add"}
    plain = [step for step in fast.steps if step.op == "shuffle"]
    assert plain and all("sum_of_part" in dict(step.calls) for step in plain)
    counted = sum(step.merged for step in fast.steps)
    assert counted == fast.total == fast.steps[-1].number + 1


def test_warps_that_share_out_k_hand_in_their_sums(fast):
    last = [step for step in fast.steps if step.phase == 2 and step.op == "load"]
    assert [sorted({t // 32 for t in step.writers.values()}) for step in last] == [
        *([0], [1], [2], [3])
    ]


def test_phases_count_the_barriers():
    x = torch.arange(64).half()[None]
    report = load("gemv_a16w16_shared").inspect(x, torch.ones(64, 64).half(), window=Window())
    steps = report.record.steps
    assert [step.phase for step in steps[:4]] == [0, 0, 0, 1]
    loads = [step for step in steps if step.name == "x_shared" and step.op == "load"]
    assert [set(step.writers.values()) for step in loads] == [set(range(32)), set(range(32, 64))]


COPY = """
__shared__ float copied[64];
__pipeline_memcpy_async(copied + t, x + t, 4);
if (t < 16) __pipeline_commit();
__pipeline_commit();
__pipeline_wait_prior(0);
y[t] = copied[t];"""


def test_lanes_that_do_it_one_after_the_other_share_a_step(inspect):
    def steps(first):
        report, _ = inspect(COPY, before="#include <cuda_pipeline.h>", window=Window(first=first))
        assert report.record.total == 7
        return [(step.op, len(step.lanes)) for step in report.record.steps]

    whole = steps(0)
    assert whole == [
        *(("async_load", 32), ("async_store", 32), ("commit", 16), ("commit", 32), ("wait", 32)),
        *(("load", 32), ("store", 32)),
    ]
    assert steps(4) == whole[4:]
