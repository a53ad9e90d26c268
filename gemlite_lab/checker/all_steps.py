"""Exercise of w2a8_tensor_cores: write all_steps, the loop along K of gemm_a8w2_wmma.

The simulator judges the answer. Its findings point into functions that the learner did not write,
so the checker also follows the order of the learner's calls and names the wrong one.
"""

import re
from functools import cache, partial

import torch

from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.kernels.plan import WARP_SIZE
from gemlite_lab.checker.all_steps_schedule import Schedule
from gemlite_lab.checker.all_steps_trace import trace
from gemlite_lab.checker.cases import fresh
from gemlite_lab.checker.compare import compare
from gemlite_lab.checker.exercise import CheckFailed, Exercise
from gemlite_lab.checker.ternary_cases import (
    GEMM,
    plan_of_gemm,
    random_case,
    right_output,
    run_in_hole,
)

# The simulator's advice on what came of it, where the learner has to mend the calls instead.
_CURE = re.compile(r": (?:wait for it|put it into a batch) with __pipeline.*|: no compiler need.*")
_OVERFLOW = "in a signed number"  # what garbage in the sums leads to
_GIVEN = ("copy_step(p, shared, s)", "decode_step(shared, s)", "multiply_step(shared, s, sums)")
_OF_A_THREAD = "__pipeline_"
_NAME, _FRAGMENT = "all_steps", "16x16x16"
_M, _N = 3, 40
_STEPS = (4.5, 2, 1, 3, 4, 9)  # a step of half the length among them
_MANY_STEPS, _ROWS_OF_A_BLOCK = 24, 16


def _plan(M, N, K):
    return plan_of_gemm(M, N, K, _FRAGMENT)


@cache
def _cases():
    found = [_case(steps, seed) for seed, steps in enumerate(_STEPS)]
    return [
        *found,
        _case(_MANY_STEPS, seed=0, M=_ROWS_OF_A_BLOCK, N=8),
        _case(2, seed=1, N=200),  # seven blocks of columns
        _case(5, seed=1, M=130, N=136),
    ]


def _case(steps, seed, M=_M, N=_N):
    K = int(steps * _plan(M, N, 32).defines["BLOCK_K"])
    return random_case(GEMM, M, N, K, seed)


def _fresh(seed):
    """Other numbers in the shape of the first case, and two larger numbers of steps, one odd."""
    steps = _MANY_STEPS + 1 + seed % _MANY_STEPS
    other = steps // 4 * 2 + (steps + 1) % 2  # about half as many, even where that is odd
    many = [partial(_case, count, M=_ROWS_OF_A_BLOCK, N=8) for count in (steps, other)]
    makes = partial(_case, _STEPS[0]), *many
    return [case for make in makes for case in fresh(make, seed)]


def _num_steps(case):
    return -(-case.K // _plan_of(case).defines["BLOCK_K"])


def _plan_of(case):
    return _plan(len(case.x), len(case.W_q), case.K)


def _run(answer, case, device):
    try:
        y, findings = run_in_hole(_NAME, answer, case, device)
    except KernelTextError as error:
        raise KernelTextError(f"{error}{_how_to_call(str(error))}") from None
    if device != "cpu":
        return y
    is_right = not findings and torch.equal(y, right_output(case))
    calls = _calls_of_threads(answer, case)
    if is_right:
        _refuse_a_warp_apart(calls, case)
    mistake = _mistake_in_calls(answer, calls, case, is_right)
    if mistake and is_right:
        raise CheckFailed(
            f"{_NAME} has the right numbers on {case.label}, but does not copy, decode and "
            f"multiply at the same time: {mistake}"
        )
    if mistake:
        telling = [finding for finding in findings if _OVERFLOW not in str(finding)]
        found = telling[0] if telling else compare("y", y, right_output(case))
        raise CheckFailed(
            f"{_NAME} is wrong on {case.label}, which is {_in_steps(case)}: {mistake}\n"
            f"What came of it: {_CURE.sub('', str(found))}"
        )
    if findings:
        raise KernelFault(str(findings[0]))
    return y


def _how_to_call(error):
    """A sentence on the given functions that the line of a compiler's error calls."""
    called = [call for call in _GIVEN if f"{call.partition('(')[0]}(" in error]
    return f"\nCall it like this: {', '.join(called)}." if called else ""


def _in_steps(case):
    count = _num_steps(case)
    return "1 step" if count == 1 else f"{count} steps"


def _calls_of_threads(answer, case):
    """The calls of each thread, in order; empty if the answer does not run without the kernel."""
    plan = _plan_of(case)
    try:
        return trace(answer, case.K, plan.defines, plan.threads)
    except (KernelTextError, KernelFault):
        return []


def _refuse_a_warp_apart(calls, case):
    """Raise CheckFailed if lanes of a warp do not call the same functions in the same order.

    Batches belong to a thread: each lane may end and await its own.
    """
    together = [[call for call in own if not call.what.startswith(_OF_A_THREAD)] for own in calls]
    for thread, theirs in enumerate(together):
        first = thread // WARP_SIZE * WARP_SIZE
        if _whats(theirs) != _whats(together[first]):
            raise CheckFailed(
                f"{_NAME} has the right numbers on {case.label}, but threads {first} and {thread} "
                "do not make the same calls in the same order, and they are of one warp: a whole "
                "warp makes multiply_step at once, and what it does where lanes come to it apart "
                "is undefined on a GPU."
            )


def _mistake_in_calls(answer, calls_of_threads, case, is_right):
    """The mistake in the order of the calls, with the learner's line; None if the order is right.

    For an answer whose numbers are right: the steps that it does one after another, needlessly.
    """
    if not calls_of_threads:
        return None
    calls, *others = calls_of_threads
    other = next((i for i, theirs in enumerate(others, 1) if _whats(theirs) != _whats(calls)), None)
    if other is not None and not is_right:
        return f"threads 0 and {other} do not make the same calls."
    schedule = Schedule(calls, _num_steps(case))
    sentence, call = schedule.not_at_the_same_time() if is_right else schedule.mistake()
    if sentence and any(call.what == "__pipeline_commit" for call in calls):
        sentence += " (copy_step ends its batch itself: __pipeline_commit adds an empty one)"
    if call is None:
        return sentence and f"{sentence}."
    line = answer.removeprefix("\n").splitlines()[call.line - 1].strip()
    return f"{sentence}.\n{_NAME}, line {call.line}:\n    {line}"


def _whats(calls):
    return [(call.what, call.number) for call in calls]


ALL_STEPS = Exercise(
    name=_NAME,
    lesson="w2a8_tensor_cores",
    output="y",
    dtype=torch.int64,
    is_kernel=True,
    hints=(
        "Draw a table: a row for each turn of the loop, and in it which step is copied, which "
        "decoded, which multiplied. What must have been done before turn 0?",
        "decode_step reads what its own thread has copied: a wait before it is enough. "
        "multiply_step reads what others have copied and decoded: between their wait and their "
        "decode_step on one side and it on the other a barrier must stand. And who may overwrite "
        "a buffer that others still read?",
        "When the words of step s + 1 are needed, the batches of step s + 1 and of step s + 2 have "
        "been begun. How many of them may stay on their way? One __syncthreads() at the end of "
        "each turn is enough. Beyond the last step copy_step makes an empty batch, so that the "
        "number stays the same; decode_step must not be called there.",
    ),
    cases=_cases,
    fresh=_fresh,
    expected=lambda case: (right_output(case), None),
    run=_run,
)
