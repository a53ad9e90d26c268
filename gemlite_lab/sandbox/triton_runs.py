"""Run a product with a learner's Triton function, in the function's own process."""

import inspect
import linecache
import re
import traceback
from contextlib import ExitStack

import torch

from gemlite_edu.operators.weight import PackedWeight
from gemlite_edu.packing.plane_tiles import PlaneTiles, pack_with_high
from gemlite_edu.runners.ahead_of_time import PlannedLaunch, refusal
from gemlite_edu.runners.interpreter.watched import doubts_postponed
from gemlite_lab.sandbox.triton_products import dequantized
from gemlite_lab.sandbox.unchanged import unchanged

_planned = []  # the launches that this process has compiled


def prepare():
    """Do what the interpreter does at its first launch, so that no check waits for it."""
    layout = PlaneTiles(4, 256, None, 32)
    words, high = pack_with_high(torch.zeros(1, 256, dtype=torch.uint8), layout)
    dequantized(_any_field, words, high, layout, 1)


def _any_field(words, field, NBITS):
    return words & NBITS


def run_product(answer, product, *arguments):
    """What one of `triton_products` gives for these arguments.

    {"result": ..., "doubts": sentences about undefined values}; where tensors are on the device
    "meta", {"refusal": why Triton does not compile the kernel for a GPU, or None}. Of several
    such calls the first compiles all the way, the others as far as types and shapes matter.
    """
    try:
        with doubts_postponed() as doubts, ExitStack() as watched:
            for weight in (each for each in arguments if isinstance(each, PackedWeight)):
                watched.enter_context(unchanged(answer, vars(weight)))
            result = product(answer, *arguments)
        return {"result": result, "doubts": [str(doubt) for doubt in doubts]}
    except PlannedLaunch as planned:
        _planned.append(planned)
        text = inspect.getsource(getattr(answer, "fn", answer))
        return {"refusal": refusal(planned, text, is_whole=len(_planned) == 1)}
    except Exception as wrapped:
        error = first_error(wrapped)
        error.add_note(advice_on(error))
        raise error from None


def first_error(error):
    """The answer's own error, which the interpreter wraps in others, often several times."""
    while type(error).__name__ == "InterpreterError" and (error.__cause__ or error.__context__):
        error = error.__cause__ or error.__context__
    return error


def advice_on(error):
    """The cause of a frequent error, as the end of a sentence; empty for other errors."""
    if isinstance(error, NameError):
        return " (known are what it gets, what it defines, and the names of the kernel's file)"
    if "is out of range for type" in str(error):
        return " (a number beside a block takes the block's type, which must hold it)"
    if "NoneType" in str(error):
        name = _none_in_the_line_of(error)
        return f" ({name} is None here)" if name else " (does every path end with a return?)"
    if traceback.extract_tb(error.__traceback__)[-1].name == "__getitem__":
        return " (Triton takes no number out of a block, as k[0] would; compute that number)"
    return ""


def _none_in_the_line_of(error):
    """A name in the failed line whose value is None there; None if the line has no such name."""
    *_, (frame, number) = traceback.walk_tb(error.__traceback__)
    line = linecache.getline(frame.f_code.co_filename, number)
    nothings = (name for name, value in frame.f_locals.items() if value is None)
    return next((name for name in nothings if re.search(rf"\b{name}\b", line)), None)
