"""Whether an answer gives the same however the atomic operations of its threads come.

Nothing orders them on a GPU, and the simulator lets the lanes of a warp come one after the other.
So an answer with atomic operations runs in another order too, and must be right there, on the cases
where no order of additions changes a bit.
"""

from contextlib import contextmanager
from functools import lru_cache

import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.kernels.holes import code_here
from gemlite_edu.runners.simulator.another_order import in_another_order
from gemlite_lab.checker.compare import compare
from gemlite_lab.checker.exercise import CheckFailed


@contextmanager
def other_orders(exercise, answer, bound):
    """A context that gives the list of what came in another order; empty without atomics.

    bound: of the case, None for an exact one.
    """
    if exercise.is_kernel and bound is None and _has_atomics(exercise.name, answer):
        with in_another_order() as outcomes:
            yield outcomes
    else:
        yield []


@lru_cache(maxsize=16)
def _has_atomics(name, text):
    return any("atomic" in token.text.lower() for code in code_here(name, text) for token in code)


def refuse_dependence_on_order(exercise, case, outcomes, expected):
    """Raise CheckFailed if a right answer is wrong in another order of its threads.

    outcomes: from `other_orders`; the first of them is what becomes of the case, or of its first
    rows, where it gives them one after the other to the kernel.
    """
    if not outcomes:
        return
    outcome = _of_all_rows(outcomes, len(expected))
    if isinstance(outcome, KernelFault):
        mismatch = str(outcome)
    else:
        y = outcome.to(exercise.dtype)
        mismatch = compare(exercise.output, y, expected, dtype=exercise.dtype)
    if mismatch:
        raise CheckFailed(
            f"{exercise.name} is right on {case.label} in one order of its threads and wrong "
            f"in another: {mismatch}.\nNothing orders the atomic operations of two threads: "
            "between two of yours any other thread may come, of another warp or block too"
        )


def _of_all_rows(outcomes, rows):
    """The first so many rows of all that came, or the KernelFault that came before them."""
    found = []
    for outcome in outcomes:
        if isinstance(outcome, KernelFault):
            return outcome
        found.append(outcome)
        if sum(map(len, found)) >= rows:
            break
    return torch.cat(found)
