"""Make an answer into what `Exercise.run` takes: a CUDA text as it is, Python in a sandbox."""

from contextlib import nullcontext
from types import FunctionType

from gemlite_edu.kernels.errors import KernelFault
from gemlite_lab.checker.exercise import CheckFailed
from gemlite_lab.sandbox.sandbox import SECONDS, AnswerError, Sandbox

_ADVICE = {
    "PermissionError": "an answer may write no file, start no program and open no connection",
    "MemoryError": "an answer may take 3 GB of memory",
    "SystemExit": "return the result instead",
}
_WHAT_HAPPENED = {
    "endless": f"did not end within {SECONDS:g} s of processor time{{at}} and was stopped: "
    "look for a loop whose condition never becomes false",
    "asleep": "waited without computing until it was stopped: look for a call that sleeps or waits",
    "ended": "ended its own process: it may not call exit, close files that it has not opened, or "
    "take more than 3 GB of memory",
}


def runnable(exercise, answer, device="cpu"):
    """A context that gives the answer as `exercise.run` takes it.

    A Python answer runs in a process of its own, which has neither the right output nor this
    package. For a GPU, that process may also compile, and so write files and start programs.
    """
    if exercise.is_kernel:
        return nullcontext(answer)
    module, packages = exercise.runs_in, ()
    if exercise.is_triton:
        module, packages = "gemlite_lab.sandbox.triton_runs", ("gemlite_edu",)
        answer = _function_alone(answer)
    try:
        return Sandbox(answer, packages, module, is_confined=device == "cpu")
    except AnswerError as error:
        raise CheckFailed(
            f"{exercise.name} uses what cannot be sent to the process where answers run: {error}"
        ) from None


def error_of(exercise, case, error):
    """The error to raise for an `AnswerError`."""
    kind, message = error.kind, str(error)
    if kind in ("KernelFault", "CheckFailed"):
        return {"KernelFault": KernelFault, "CheckFailed": CheckFailed}[kind](message)
    at = f" at `{error.line}`" if error.line else ""
    if kind in _WHAT_HAPPENED:
        what = _WHAT_HAPPENED[kind].format(at=at)
        return CheckFailed(f"{exercise.name} {what} ({case.label})")
    advice = f" ({_ADVICE[kind]})" if kind in _ADVICE else ""
    said = f": {message}" if message else ""
    return CheckFailed(f"{exercise.name} raised {kind}{at} on {case.label}{said}{advice}")


def _function_alone(answer):
    """The answer without the names around it, which Triton takes from the kernel's file instead."""
    function = getattr(answer, "fn", answer)
    code, *rest = function.__code__, function.__defaults__, function.__closure__
    alone = FunctionType(code, {}, function.__name__, *rest)
    alone.__annotations__ = function.__annotations__
    return alone
