"""Whether a CUDA compiler takes a right answer: nvcc compiles it beside the simulator's run.

GEMLITE_EDU_NVCC_BESIDE=off leaves nvcc out, and says nothing about it.
"""

import os
from contextlib import contextmanager

import torch

from gemlite_edu.kernels.directive_rules import GUARDS
from gemlite_edu.kernels.holes import words_of
from gemlite_edu.runners import nvcc_beside

_said_before = []


@contextmanager
def compiled_for_gpu(exercise, answer, device):
    """In this context nvcc compiles what the simulator inspects.

    Yields a function for the end: it raises KernelTextError if nvcc refuses the answer, and returns
    a line about what no CUDA compiler has seen, or nothing has run, or "".
    """
    is_off = os.environ.get("GEMLITE_EDU_NVCC_BESIDE") == "off"
    if is_off or not exercise.is_kernel or device != "cpu":
        yield lambda: ""
        return
    with nvcc_beside.beside() as compiling:
        yield lambda: _note(answer, compiling is not None and compiling.wait())


def _note(answer, is_compiled):
    if not words_of("", answer).isdisjoint(GUARDS):
        return _of_guarded_lines(is_compiled)
    if is_compiled or _said_before:
        return ""
    _said_before.append(True)
    return "  (no nvcc was found here: the simulator has judged the text, no CUDA compiler has)\n"


def _of_guarded_lines(is_compiled):
    if not is_compiled:
        return (
            "  (the lines for a GPU alone were neither compiled nor run: no nvcc was found here)\n"
        )
    if torch.cuda.is_available():
        return ""  # it runs them next
    return "  (the lines for a GPU alone were compiled, and nothing has run them: no GPU is here)\n"
