"""Make an answer into what `Exercise.run` takes: a CUDA text as it is, Python in a sandbox."""

from contextlib import contextmanager

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


@contextmanager
def runnable(exercise, answer, device="cpu"):
    """In this context, the answer as `exercise.run` takes it.

    A Python answer runs in a process of its own, which has neither the right output nor this
    package. For a GPU, that process may also compile, and so write files and start programs.
    """
    if exercise.is_kernel or exercise.is_triton:
        yield answer
        return
    try:
        sandbox = Sandbox(answer, module=exercise.runs_in)
    except AnswerError as error:
        raise CheckFailed(
            f"{exercise.name} uses what cannot be sent to the process where answers run: {error}"
        ) from None
    with sandbox:
        yield sandbox


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
