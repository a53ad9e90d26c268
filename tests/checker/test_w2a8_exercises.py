"""four_codes, all_steps and fragment_shape: their inputs, and what is said of an order of calls."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.runners import simulator
from gemlite_edu.runners.simulator import kept_processes
from gemlite_lab.checker import (
    EXERCISES,
    CheckFailed,
    all_steps,
    all_steps_trace,
    check,
    fragment_shape,
    ternary_cases,
)
from gemlite_lab.checker.all_steps_schedule import Schedule
from gemlite_lab.checker.all_steps_trace import Call, trace
from gemlite_lab.checker.fragment_counts import (
    SHAPES,
    best_of,
    counted,
    cut,
    fragments_of_a_warp,
    right_costs,
)

RIGHT = Path(__file__).parent.parent / "right"
FOUR_CODES_CASES = EXERCISES["four_codes"].cases()
ALL_STEPS_CASES = EXERCISES["all_steps"].cases()
FRAGMENT_CASES = EXERCISES["fragment_shape"].cases()


def test_every_code_stands_at_every_place_of_a_word():
    for case in FOUR_CODES_CASES:
        places = case.W_q.reshape(-1, 16)
        assert all(sorted(place.unique().tolist()) == [0, 1, 2, 3] for place in places.T)


def test_both_kernels_decode_and_x_is_extreme():
    assert {case.kernel for case in FOUR_CODES_CASES} == {ternary_cases.GEMV, ternary_cases.GEMM}
    x = torch.cat([case.x.flatten() for case in FOUR_CODES_CASES[1:]])
    assert x.min() == -128 and x.max() > 120 and (x != 0).all()


def test_there_are_one_step_two_and_more_and_a_part_of_one():
    plans = [all_steps._plan_of(case) for case in ALL_STEPS_CASES]
    assert sorted(map(all_steps._num_steps, ALL_STEPS_CASES)) == [1, 2, 2, 3, 4, 5, 5, 9, 24]
    lengths = [plan.defines["BLOCK_K"] for plan in plans]
    assert any(case.K % length for case, length in zip(ALL_STEPS_CASES, lengths, strict=True))
    assert sum(plan.grid[0] > 1 for plan in plans) == len(plans) - 1
    assert any(plan.grid[0] > 2 and plan.grid[1] > 2 for plan in plans)
    assert all(plan.threads > 32 for plan in plans)


@pytest.mark.parametrize("seed", range(0, 30, 7))
def test_each_check_has_an_odd_and_an_even_number_of_many_steps(seed):
    counts = [all_steps._num_steps(case) for case in EXERCISES["all_steps"].fresh(seed)]
    assert {count % 2 for count in counts if count > 9} == {0, 1}


def text_of(name):
    return (RIGHT / "all_steps" / f"{name}.cu").read_text()


def calls_of(text):
    """From "c0 c1 w1 d0 b m0": copy_step of step 0, and so on; p is __pipeline_commit."""
    names = dict(zip("cdmpwb", all_steps_trace.CALLS, strict=True))
    words = text.split()
    return [Call(names[w[0]], int(w[1:] or 0), line) for line, w in enumerate(words, 1)]


SOLUTION_OF_3 = "c0 c1 w1 d0 b c2 w1 d1 m0 b c3 w1 d2 m1 b c4 w1 m2 b"


def traced(text, K, block_k, threads):
    """The calls of `threads` threads in steps of block_k."""
    defines = ternary_cases.plan_of_gemm(3, 40, 32, "16x16x16").defines
    return trace(text, K, defines | {"BLOCK_K": block_k}, threads)


def test_the_trace_has_the_calls_of_every_thread_with_their_lines():
    text = text_of("as_in_the_solution")
    threads = traced(text, 3 * 256 - 32, 256, 96)
    assert len(threads) == 96 and all(calls == threads[0] for calls in threads)
    found = [(call.what, call.number) for call in threads[0]]
    assert found == [(call.what, call.number) for call in calls_of(SOLUTION_OF_3)]
    lines = text.splitlines()
    assert all(call.what in lines[call.line - 1] for call in threads[0])


def test_an_answer_is_traced_in_a_process_that_is_not_kept(monkeypatch):
    monkeypatch.setattr(kept_processes, "_keep", lambda *_: pytest.fail("it was kept"))
    with simulator.kept_alive():
        traced(text_of("as_in_the_solution"), 512, 512, 1)


@pytest.mark.parametrize("path", sorted(RIGHT.glob("all_steps/*.cu")), ids=lambda path: path.stem)
def test_nothing_is_said_of_a_right_order(path):
    for num_steps in (1, 2, 3, 4, 7):
        (calls,) = traced(path.read_text(), num_steps * 512, 512, 1)
        schedule = Schedule(calls, num_steps)
        assert schedule.mistake() == (None, None) == schedule.not_at_the_same_time()


MISTAKES = {
    "c0 w0 d0 b m0 b c1 w0 d1 b m1 b c2 w0 d2 b c3 w0 d3 b c4": (5, "step 2 is never", None),
    "c0 c1 w1 d0 b c2 w1 d1 m0 b": (3, "step 1 is never multiplied, nor 1 other", None),
    "c0 w0 d0 b m0 b c1 w0 d1 b m1": (2, "behind the last multiply_step: sums take", None),
    "c0 c1 w1 d0 b m0 b c2 w1 d1 b m1 b": (2, None, None),
    "c0 c1 w0 d0 b m0 d1 b m1 b c2": (2, None, None),
    "c0 c1 w1 d0 b m0 b": (1, None, None),
    "c0 c1 c2 w2 d0 b m0 b w1 d1 b m1 b": (3, "step 2, the last one, is never multiplied", None),
    "d0": (1, "decode_step of step 0 finds nothing: copy_step of step 0 is missing", 1),
    "d0 c0": (1, "decode_step of step 0 finds nothing: copy_step of step 0 comes later", 1),
    "d1": (1, "decode_step is called for step 1, and the last one is 0", 1),
    "d-1": (1, "decode_step is called for step -1, and the first one is 0", 1),
    "m3": (3, "multiply_step is called for step 3, and the last one is 2", 1),
    "c0 d0": (1, "no __pipeline_wait_prior stands between copy_step of step 0 and decode_step", 2),
    "c0 w1 d0": (2, "__pipeline_wait_prior(1) leaves 1 batch on the way, and none came after", 3),
    "c0 c1 w2 d0": (2, "__pipeline_wait_prior(2) leaves 2 batches on the way, and 1 came", 4),
    "c0 c1 w1 d1": (2, "decode_step of step 1 finds no words yet", 4),
    "c0 w0 c1 d1": (2, "no __pipeline_wait_prior stands between copy_step of step 1", 4),
    "c0 w1 c1 d0": (2, "of step 1 and decode_step of step 0: the one before left it on its way", 4),
    "c0 c1 c2 c3 w0 d0": (4, "decode_step of step 0 finds the words of step 3: its own were", 6),
    "c0 c1 w0 d0 b m0 b c2 d3 c3": (4, "finds the words of step 0: copy_step of step 3 comes", 9),
    "c0 c1 c2 c3 m0": (4, "copy_step of step 3 overwrites step 0 before that is multiplied", 4),
    "c0 c1 c1": (3, "step 1 is copied a second time", 3),
    "c0 c1 c2 w0 d0 b m0 c3": (4, "copy_step of step 3 overwrites the x of step 0, which", 8),
    "c0 c1 c2 w0 d0 b d1 m0 d2": (3, "decode_step of step 2 overwrites the W of step 0, which", 9),
    "c0 c1 c2 w0 d0 b d2 m0": (3, "overwrites the W of step 0 before that is multiplied", 7),
    "c0 w0 d0 b d0 m0": (1, "overwrites the W of step 0 once more before that is multiplied", 5),
    "c0 w0 m0 d0": (1, "multiply_step of step 0 finds no W: decode_step of step 0 comes later", 3),
    "c0 c1 w0 d0 b m1": (2, "step 0, the first one, is never multiplied", 6),
    "c0 c1 c2 w0 d0 b m0 b m2": (3, "step 1 is never multiplied", 9),
    "c0 w0 d0 m0": (1, "no __syncthreads() stands between decode_step and multiply_step of st", 4),
    "c0 w0 d0 b m0 b m0": (1, "step 0 is multiplied a second time", 7),
    "c0 w0 d0 c1 b m0 b": (1, None, None),
    "c0 w0 d0 b m0 b c1 c2 w1 d1 b m1 b w1 d2 b m2 b": (
        3,
        "none came after that of step 2. Beyond the last step copy_step makes an empty batch",
        15,
    ),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_what_is_wrong_first_is_said_with_its_call(text):
    num_steps, part, number = MISTAKES[text]
    sentence, call = Schedule(calls_of(text), num_steps).mistake()
    assert (part is None) == (sentence is None) and (part or "") in (sentence or "")
    assert (call.line if call else None) == number


IN_TURN = {
    SOLUTION_OF_3: None,
    SOLUTION_OF_3.replace("c2 w1", "c2 w0"): (
        "it waits for the copy of step 2 before decode_step of step 1",
        7,
    ),
    SOLUTION_OF_3.replace("d1 m0", "d1 w0 m0"): (
        "it waits for the copy of step 2 before multiply_step of step 0",
        9,
    ),
    SOLUTION_OF_3.replace("c2 w1 d1 m0", "w0 d1 c2 m0"): (
        "decode_step of step 1 comes before copy_step of step 2",
        8,
    ),
    SOLUTION_OF_3.replace("c2 w1 d1 m0", "w0 m0 c2 d1"): (
        "multiply_step of step 0 comes before copy_step of step 2",
        8,
    ),
    "c0 w0 d0 b m0 b c1 w0 d1 b m1 b": (
        "decode_step of step 0 comes before copy_step of step 1",
        7,
    ),
    "c0 c1 w0 d0 b m0 d1 b m1 b": (
        "it waits for the copy of step 1 before decode_step of step 0",
        3,
    ),
    "c0 w0 d0 b m0 b": None,  # of one step nothing is asked
}


@pytest.mark.parametrize("text", IN_TURN)
def test_what_comes_one_after_the_other_is_said(text):
    schedule = Schedule(calls_of(text), text.count("m"))
    assert schedule.mistake() == (None, None)
    sentence, call = schedule.not_at_the_same_time()
    expected = IN_TURN[text]
    assert (sentence, call.line if call else None) == (expected or (None, None))


def test_the_buffers_are_those_of_the_kernel():
    text = sources.read("gemm_a8w2_wmma")
    assert re.search(r"\bBUFFERS = 3\b", text)
    assert len(re.findall(r"shared\.(?:x|words)\[step % BUFFERS\]", text)) >= 4
    assert len(re.findall(r"shared\.W\[step % 2\]", text)) == 2


WITHOUT_A_CALL = """
__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  shared.x[0][0] = 1;
}
"""


def test_an_answer_without_a_call_is_told_what_is_missing():
    assert traced(WITHOUT_A_CALL, 512, 512, 32) == [[]] * 32
    with pytest.raises(CheckFailed, match="step 0, the first one, is never multiplied"):
        check("all_steps", WITHOUT_A_CALL)


def test_garbage_that_overflows_is_not_what_came_of_it():
    barrier = "    __syncthreads();\n"
    with pytest.raises(CheckFailed, match="What came of it") as caught:
        check("all_steps", text_of("as_in_the_solution").replace(barrier, ""))
    assert "signed number" not in str(caught.value)


def test_an_answer_that_never_ends_is_stopped(monkeypatch):
    for module in (ternary_cases, all_steps_trace):
        monkeypatch.setattr(module, "_TIME_LIMIT", 0.5)
    endless = text_of("as_in_the_solution").replace("++step", "step = 0")
    with pytest.raises(KernelFault, match="did not end within 0.5 s"):
        check("all_steps", endless)


def test_each_shape_is_best_for_some_product_and_two_of_some_load_as_much():
    products = [case.products[0] for case in FRAGMENT_CASES if len(case.shapes) == len(SHAPES)]
    costs = [right_costs(*product) for product in products]
    assert {best_of(found) for found in costs} == set(SHAPES)
    loads = [[sum(found[shape][:2]) for shape in SHAPES] for found in costs]
    equal = [i for i, found in enumerate(loads) if found.count(min(found)) > 1]
    assert {best_of(costs[i]) for i in equal} == {"8x32x16", "32x8x16"}
    assert {product[3] for product in products} > {1} < {product[4] for product in products}


@pytest.mark.parametrize("M, N", [(5, 40), (20, 40), (40, 33)])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_model_of_the_exercise_is_that_of_the_kernel(shape, M, N):
    K = ternary_cases.plan_of_gemm(M, N, 32, shape).defines["BLOCK_K"]
    tile = fragments_of_a_warp(M, N, K, shape)
    found = cut(M, N, K, *tile, shape)
    assert counted(M, N, K, shape) == (found.x_bytes, found.W_bytes)


def test_padding_is_what_goes_into_no_output():
    found = cut(5, 40, 16, 1, 2, "16x16x16")
    inside = [(m, n) for m in range(16) for n in range(64) if m < 5 and n < 40]
    assert (found.tiles, found.padding) == (2, (16 * 64 - len(inside)) * 16)


@pytest.mark.parametrize("best", SHAPES)
def test_any_of_the_shapes_that_are_equally_good_is_the_best(best):
    costs = right_costs(98, 178, 64, 4, 2)
    case = fragment_shape._best(((98, 178, 64, 4, 2),))
    answer = SimpleNamespace(run=lambda _, products: [(best, costs) for _ in products])
    output = fragment_shape._run(answer, case, "cpu")
    is_right = torch.equal(output, EXERCISES["fragment_shape"].expected(case)[0])
    assert is_right == (best != "32x8x16")


def test_what_came_of_wrong_calls_advises_nothing():
    guarded = text_of("as_in_the_solution").replace(
        "copy_step(p, shared, step + 2)", "if (step + 2 < num_steps) copy_step(p, shared, step + 2)"
    )
    with pytest.raises(CheckFailed) as caught:
        check("all_steps", guarded)
    message = str(caught.value)
    assert "has not delivered yet\n" in message and "wait for it" not in message
