"""Run a launch in the interpreter with its accesses checked and undefined values found."""

import inspect
import linecache
import sys
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from unittest.mock import patch

import numpy as np
import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.runners.interpreter.accesses import Accesses
from gemlite_edu.runners.interpreter.undefined import GARBAGE, Undefined

_doubts = ContextVar("doubts", default=None)


@contextmanager
def doubts_postponed():
    """Within this context, a result that depends on undefined values is no error yet.

    It goes into the list that the context gives, as a KernelFault: whoever knows the right result
    may have more to say about a wrong one.
    """
    doubts = []
    token = _doubts.set(doubts)
    try:
        yield doubts
    finally:
        _doubts.reset(token)


def run_watched(kernel_name, tensors, run):
    """Call `run`, which launches a kernel in the interpreter on `tensors` {name: tensor}.

    Raises KernelFault, with the program and the line, for an access outside of the tensors, for a
    race between two programs, for a read of an output that nothing has written, for lanes of a
    store that disagree, and if what is stored depends on something that a GPU leaves undefined.
    """
    places, cause = _run(kernel_name, tensors, run)
    if cause is None:
        return
    changed = [place for place in places if place.shadow.before is not None]
    results = [place.flat().clone() for place in changed]
    for garbage in GARBAGE:
        for place in changed:
            place.flat().copy_(place.shadow.before)
        _run(kernel_name, tensors, run, garbage)
        agree = [
            _agree(result, place.flat()) for place, result in zip(changed, results, strict=True)
        ]
        for place, result in zip(changed, results, strict=True):
            place.flat().copy_(result)
        if not all(agree):
            name = changed[agree.index(False)].name
            postpone(f"{cause}. A GPU leaves that undefined, and {name} depends on it")
            return


def postpone(sentence):
    """Keep a doubt for the list of `doubts_postponed`; outside of it, raise it as a KernelFault."""
    doubts = _doubts.get()
    if doubts is None:
        raise KernelFault(sentence)
    doubts.append(KernelFault(sentence))


def _run(kernel_name, tensors, run, garbage=None):
    """(The tensors' places in memory, the cause of the first undefined value or None)."""
    from triton.runtime import interpreter

    def where():
        line = _line(kernel_name)
        program = tuple(interpreter.interpreter_builder.grid_idx)
        return f"{kernel_name}, program {program}" + (line and f", `{line}`")

    builder_class = interpreter.InterpreterBuilder
    undefined = Undefined(where, garbage)
    accesses = Accesses(tensors, where, undefined)
    with ExitStack() as stack:
        if garbage:  # nobody counts the loads of a second run
            load = inspect.unwrap(builder_class.create_masked_load)
            stack.enter_context(patch.object(builder_class, "create_masked_load", load))
        patches = accesses.patches(builder_class) | undefined.patches(builder_class)
        for name, method in patches.items():
            stack.enter_context(patch.object(builder_class, name, method))
        made_up = _with_made_up_addresses(interpreter._implicit_cvt, accesses.memory)
        stack.enter_context(patch.object(interpreter, "_implicit_cvt", made_up))
        stack.enter_context(np.errstate(divide="ignore", invalid="ignore"))
        try:
            run()
        except Exception as error:
            fault = _fault_in(error)
            if fault is None:
                raise
            raise fault from None
    return accesses.memory.places, undefined.cause


def _with_made_up_addresses(convert, memory):
    """The interpreter's function for arguments, which now gives a tensor its made-up address."""

    def converted(argument):
        handle = convert(argument)
        if hasattr(argument, "data_ptr"):
            handle.handle.data[:] = memory.made_up(argument.data_ptr())
        return handle

    return converted


def _agree(first, second):
    """True if two results differ by no more than another order of sums would."""
    if first.dtype.is_floating_point:
        first, second = first.double(), second.double()
        return bool(torch.isclose(first, second, rtol=1e-3, atol=0, equal_nan=True).all())
    return torch.equal(first, second)


def _line(kernel_name):
    """The line of the kernel's text that is running, or "" if it is not known."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != kernel_name:
        frame = frame.f_back
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip() if frame else ""


def _fault_in(error):
    """The KernelFault inside the errors in which the interpreter has wrapped it, or None."""
    while error is not None:
        if isinstance(error, KernelFault):
            return error
        error = error.__cause__
    return None
