"""Whether a CUDA compiler takes a right answer: nvcc compiles it beside the simulator's run.

GEMLITE_EDU_NVCC_BESIDE=off leaves nvcc out, and says nothing about it.
"""

import os
from contextlib import contextmanager

from gemlite_edu.runners import nvcc_beside

_FOR_A_GPU_ALONE = ("__CUDA_ARCH__", "__CUDACC__")
_said_before = []


@contextmanager
def compiled_for_gpu(exercise, answer, device):
    """In this context nvcc compiles what the simulator inspects.

    Yields a function for the end: it raises KernelTextError if nvcc refuses the answer, and returns
    a line about what no CUDA compiler has seen, or "".
    """
    is_off = os.environ.get("GEMLITE_EDU_NVCC_BESIDE") == "off"
    if is_off or not exercise.is_kernel or device != "cpu":
        yield lambda: ""
        return
    with nvcc_beside.beside() as compiling:
        yield lambda: "" if compiling is not None and compiling.wait() else _not_compiled(answer)


def _not_compiled(answer):
    if any(word in answer for word in _FOR_A_GPU_ALONE):
        return "  (not compiled: the lines for a GPU alone, because no nvcc was found here)\n"
    if _said_before:
        return ""
    _said_before.append(True)
    return "  (no nvcc was found here: the simulator has judged the text, no CUDA compiler has)\n"
