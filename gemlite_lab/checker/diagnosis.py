"""`diagnosis`: the mistake behind a wrong output, or the trap without which it would be right."""

from contextlib import contextmanager
from itertools import chain, combinations, dropwhile, islice

import torch

from gemlite_lab.checker.compare import compare
from gemlite_lab.checker.exercise import clone, tensors_of
from gemlite_lab.checker.fingerprints import is_known_once, mistake_of
from gemlite_lab.checker.mistakes.names import explanations
from gemlite_lab.checker.patterns import pattern

_EXACTLY = "Your output is exactly what comes out"  # begins what names a mistake
_NEXT_CASES = 4  # in which traps are tried, where a mistake has a name already
_NEXT_OF_A_KERNEL = 2  # in which traps are always tried: a CUDA text takes long to run


def diagnosis_or_doubts(exercise, answer, case, actual, doubts):
    """The `diagnosis`, and behind one that names no mistake what else is doubtful."""
    found = diagnosis(exercise, answer, case, actual)
    return found if _EXACTLY in found else found + "".join(f"\n{doubt}" for doubt in doubts)


def diagnosis(exercise, answer, case, actual):
    """A sentence that names the known mistake or trap behind `actual`; empty if there is none."""
    expected, _ = exercise.expected(case)
    if not isinstance(actual, torch.Tensor):
        return ""
    if actual.shape != expected.shape or actual.dtype != exercise.dtype:
        return ""
    if exercise.is_kernel and actual.isnan().all():
        return (
            f"\nEvery {exercise.output} is NaN, and the kernel wrote it: look for 0/0, for "
            "infinity less infinity or times 0, and for a number that holds NaN, which every sum "
            f"with it keeps.{_of_x_beyond_half(case)}"
        )
    if not exercise.is_triton and actual.is_floating_point() and actual.isnan().all():
        return (
            f"\nEvery number of {exercise.output} is NaN: look for 0 / 0, for infinity less "
            "infinity or times 0, and for a number that is NaN already."
        )
    if exercise.is_triton and actual.isnan().all():
        return _of_traps(exercise, answer, case) or (
            f"\nEvery {exercise.output} is NaN: nothing was stored there, or NaN was computed, as "
            "by 0 / 0."
        )
    if _is_kept(exercise, answer, case, actual):
        return (
            f"\nThat was right for an earlier call, and {exercise.name} is right when this call is "
            "the first: compute the result anew each time."
        )
    if actual.numel() > 1 and not actual.any():  # many a mistake gives that, so it names none
        return _of_traps(exercise, answer, case) or (
            f"\nYour output is 0 everywhere.{_of_scales_below_half(case)}"
        )
    may_be_named = expected.numel() == 1 or bool((expected != expected.flatten()[0]).any())
    mistake = mistake_of(exercise, case, actual) if may_be_named else None
    if mistake and _is_made_again(mistake, exercise, answer, case):
        return f"\n{_EXACTLY} when {mistake}."
    if _is_right_as_the_first(exercise, answer, case):
        return (
            f"\n{exercise.name} is right when this call is the first: it keeps something of an "
            "earlier call, or takes memory that nobody has set, as torch.empty gives it."
        )
    with _one_thread():  # for thousands of small products, which more threads would slow down
        made = exercise, answer, case, actual
        found = _of_models(*made, size=1) if may_be_named else ""
        found += _of_traps(exercise, answer, case, is_named=bool(found))
        if may_be_named and not found:
            found = _of_models(*made, size=2)
        return found or _unknown(exercise, case, actual)


def _of_x_beyond_half(case):
    x = tensors_of(case).get("x")
    if x is None or x.dtype != torch.bfloat16 or not x.half().isinf().any():
        return ""
    return (
        " Here x is bfloat16 and has numbers beyond 65504, the largest half: a text that rounds x "
        "to half makes infinity of them."
    )


def _of_scales_below_half(case):
    scales = tensors_of(case).get("scales")
    if scales is None or not scales.any() or scales.half().any():
        return ""
    return (
        " Here every scale is so small that it is 0 in half precision: a text that rounds the "
        "scale to half loses it."
    )


def _is_made_again(mistake, exercise, answer, case):
    """True if later cases do not contradict this mistake, which has an output in some of them.

    An answer that was right in an earlier case may be wrong for one width alone, and give there by
    chance what the mistake gives. A CUDA text would take long to run again.
    """
    first, *_ = exercise.cases()
    if exercise.is_kernel or case.label == first.label or is_known_once(exercise, mistake):
        return True
    for later in dropwhile(lambda other: other.label != case.label, exercise.cases()):
        if later.label == case.label:
            continue
        try:
            output = exercise.run(answer, clone(later), "cpu")
        except Exception:
            continue
        if isinstance(output, torch.Tensor) and mistake_of(exercise, later, output) == mistake:
            return True
    return False


def _is_kept(exercise, answer, case, actual):
    """True if the answer has kept `actual` from an earlier case, and else would be right."""
    return _was_right_before(exercise, case, actual) and _is_right_as_the_first(
        exercise, answer, case
    )


def _is_right_as_the_first(exercise, answer, case):
    """True if the answer is right on this case in a new process. A CUDA text keeps nothing."""
    if exercise.is_kernel or exercise.is_triton:
        return False
    answer.forget()
    return _is_right_without((), exercise, answer, case)


def _was_right_before(exercise, case, actual):
    for other in exercise.cases():
        if other.label == case.label:
            return False
        right, bound = exercise.expected(other)
        if compare(exercise.output, actual, right, bound, exercise.dtype) is None:
            return True
    return False


@contextmanager
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _of_traps(exercise, answer, case, is_named=False):
    """A sentence on the traps without which the answer would be right, empty if there are none.

    is_named: the mistake has a name already; traps are added to it only if all mistakes are traps.
    A CUDA text must be right without the traps in the next cases too, which have other widths.
    """
    for clauses in _sets_of(exercise.traps):
        if not _is_right_without(clauses, exercise, answer, case):
            continue
        if exercise.is_kernel and not _is_right_next(
            clauses, _NEXT_OF_A_KERNEL, exercise, answer, case
        ):
            continue
        is_known = exercise.is_kernel or not is_named
        if is_known or _is_right_next(exercise.traps, _NEXT_CASES, exercise, answer, case):
            return f"\nIt would be right if{_listed(clauses)}."
        return ""
    return ""


def _is_right_next(clauses, count, exercise, answer, case):
    """True if the answer is right without these traps in so many of the next cases."""
    cases = dropwhile(lambda other: other.label != case.label, exercise.cases())
    return all(
        _is_right_with(clauses, exercise, answer, other) for other in islice(cases, 1, 1 + count)
    )


def _unknown(exercise, case, actual):
    """A sentence on what can be seen in the output, or where to find help."""
    expected, bound = exercise.expected(case)
    seen = pattern(exercise.output, actual, expected, bound)
    if seen:
        return f"\nIt is none of the mistakes known here, but {seen}."
    return f'\nIt is none of the mistakes known here; hint("{exercise.name}", 1) may help.'


def _of_models(exercise, answer, case, actual, size):
    """A sentence on the mistake or the two mistakes that models find, empty if they find none."""
    found = explanations(exercise, answer, case, actual, size)
    if not found:
        return ""
    if size == 1:
        ways = ", or when ".join(words for (words,) in found)
        return f"\n{_EXACTLY} when {ways}."
    return f"\n{_EXACTLY} of two mistakes{_listed(found[0])}."


def _listed(clauses):
    if len(clauses) == 1:
        return f" {clauses[0]}"
    return ": " + ", ".join(f"({i}) {clause}" for i, clause in enumerate(clauses, 1))


def _sets_of(traps):
    """All sets of one trap, then all sets of two traps, and so on."""
    return chain.from_iterable(combinations(traps, size) for size in range(1, len(traps) + 1))


def _is_right_without(clauses, exercise, answer, case):
    """True if `answer` is right on `case` without these traps, and `case` has one of them."""
    if clauses and _changed(clauses, exercise, case) is case:
        return False
    return _is_right_with(clauses, exercise, answer, case)


def _changed(clauses, exercise, case):
    for clause in clauses:
        case = exercise.traps[clause](case)
    return case


def _is_right_with(clauses, exercise, answer, case):
    """True if `answer` is right on `case` with these changes, which may leave it as it is."""
    case = _changed(clauses, exercise, case)
    expected, bound = exercise.expected(case)
    try:
        actual = exercise.run(answer, case, "cpu")
    except Exception:
        return False
    return compare(exercise.output, actual, expected, bound, exercise.dtype) is None
