"""Exercises whose answer is a Python function in Triton: what they have in common."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners.interpreter.watched import postpone
from gemlite_lab.checker.runnable import runnable
from gemlite_lab.checker.text_of_code import text_of_code
from gemlite_lab.sandbox.triton_runs import run_product

_said_before = []


class _Compiled(Exception):
    """Raised in place of a product: Triton takes the kernel, or else `why` says why not."""

    def __init__(self, why):
        super().__init__(why)
        self.why = why


def text_of(name, answer):
    """The text of an answer, which Triton needs to interpret or compile it."""
    function = getattr(answer, "fn", answer)  # unwraps a function that is jitted already
    try:
        if function.__name__ == "<lambda>":
            raise TypeError
        return text_of_code(function.__code__)  # not of what it says that it wraps
    except (OSError, TypeError, AttributeError):
        raise TypeError(
            f"{name} must be a def in a notebook's cell or in a file: Triton compiles its text"
        ) from None


def product_of(answer, product, *arguments):
    """What a function of `sandbox.triton_products` gives with this answer, in its process."""
    reply = answer.run(run_product, product, *arguments)
    if "refusal" in reply:
        raise _Compiled(reply["refusal"])
    for doubt in reply["doubts"]:
        postpone(doubt)
    return reply["result"]


@contextmanager
def compiled_beside(exercise, answer, device):
    """In this context Triton can compile an answer for a GPU while the interpreter runs it.

    Yields a `_Compilation`, which has nothing to do for answers that are not in Triton.
    """
    if not exercise.is_triton or device != "cpu":
        yield _Compilation()
        return
    with ThreadPoolExecutor(1) as pool, runnable(exercise, answer) as sandbox:
        yield _Compilation(lambda: pool.submit(compile_for_gpu, exercise, sandbox))


class _Compilation:
    """Call `begin` once an answer looks right; `finish` waits, and raises as `compile_for_gpu`."""

    def __init__(self, submit=None):
        self._submit, self._result = submit, None

    def begin(self):
        if self._submit and self._result is None:
            self._result = self._submit()

    def finish(self):
        if self._result:
            self._result.result()


def not_run_on_gpu(exercise):
    """A line about what no GPU has run, once; "" for answers that are not in Triton."""
    if not exercise.is_triton or torch.cuda.is_available() or _said_before:
        return ""
    _said_before.append(True)
    return "  (compiled for a GPU, and run in Triton's interpreter: no GPU was found here)\n"


def compile_for_gpu(exercise, answer):
    """Raise KernelTextError if Triton does not compile an answer for a GPU, which need not be here.

    answer: what `runnable` makes of it. Compiling writes no file and starts no program.
    """
    for index in exercise.compiled_cases:
        try:
            exercise.run(answer, exercise.cases()[index], "meta")
        except _Compiled as compiled:
            if compiled.why:
                raise KernelTextError(
                    f"{exercise.name} runs here, but it does not compile for a GPU: {compiled.why}"
                ) from None
