"""Helpers for exercises whose answer is a Python function in Triton."""

import inspect
import linecache
import re
import traceback
from contextlib import contextmanager
from dataclasses import fields, replace

import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.operators.triton_product import matmul
from gemlite_edu.runners.ahead_of_time import PlannedLaunch, refusal

_refusals = {}  # by (exercise, text): why Triton does not compile it, or None


def text_of(name, answer):
    """The text of an answer, which Triton needs to interpret or compile it."""
    function = getattr(answer, "fn", answer)  # unwraps a function that is jitted already
    try:
        if function.__name__ == "<lambda>":
            raise TypeError
        return inspect.getsource(function)
    except (OSError, TypeError, AttributeError):
        raise TypeError(
            f"{name} must be a def in a notebook's cell or in a file: Triton compiles its text"
        ) from None


def first_error(error):
    """The answer's own error, which the interpreter wraps in others, often several times."""
    while type(error).__name__ == "InterpreterError" and (error.__cause__ or error.__context__):
        error = error.__cause__ or error.__context__
    return error


def advice_on(error):
    """The cause of a frequent error, as the end of a sentence; empty for other errors."""
    if isinstance(error, NameError):
        return " (known are what it gets, what it defines, and the names of the kernel's file)"
    if "NoneType" in str(error):
        name = _none_in_the_line_of(error)
        return f" ({name} is None here)" if name else " (does every path end with a return?)"
    return ""


def _none_in_the_line_of(error):
    """A name in the failed line whose value is None there; None if the line has no such name."""
    *_, (frame, number) = traceback.walk_tb(error.__traceback__)
    line = linecache.getline(frame.f_code.co_filename, number)
    nothings = (name for name, value in frame.f_locals.items() if value is None)
    return next((name for name in nothings if re.search(rf"\b{name}\b", line)), None)


def compile_for_gpu(exercise, answer):
    """Raise KernelTextError if Triton does not compile an answer for a GPU, which need not be here.

    It writes no file and starts no program, but it may run Python that the answer's text calls.
    """
    text = text_of(exercise.name, answer)
    if (exercise.name, text) not in _refusals:
        _refusals[exercise.name, text] = _refusal(exercise, answer, text)
    why = _refusals[exercise.name, text]
    if why:
        raise KernelTextError(
            f"{exercise.name} runs here, but it does not compile for a GPU: {why}"
        )


def _refusal(exercise, answer, text):
    cases = exercise.cases()
    for turn, index in enumerate(exercise.compiled_cases):
        try:
            exercise.run(answer, cases[index], "meta")
        except PlannedLaunch as planned:
            why = refusal(planned, text, is_whole=turn == 0)
            if why:
                return why
    return None


@contextmanager
def outputs_start_as_nan():
    """In this context `torch.empty` returns tensors filled with NaN, or the largest integer."""
    before = torch.are_deterministic_algorithms_enabled()
    warned_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned_only)


def product(kernel, x, weight, replacing, device, config=None, epilogue=None, **how):
    """y, on the CPU, of `matmul(kernel, ...)` with {name: answer} `replacing`, run on `device`.

    On the CPU the interpreter checks every access and raises KernelFault for one out of bounds.
    Elements that the kernel never stores are NaN. `Exercise.run` may return it as it is.
    """
    with outputs_start_as_nan():
        given = (f.name for f in fields(weight) if f.init)
        on_device = {name: _moved(getattr(weight, name), device) for name in given}
        weight = replace(weight, **on_device)
        y = matmul(kernel, x.to(device), weight, config, epilogue, replace=replacing, **how)
    return y.cpu()


def _moved(value, device):
    return value.to(device) if isinstance(value, torch.Tensor) else value
