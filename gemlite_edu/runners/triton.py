"""Triton kernels, loaded once for each of Triton's two modes: compiled, and interpreted.

A kernel's file is an ordinary module; what differs is what `triton.jit` makes of its functions. A
file, and the files that it imports, are loaded in the mode asked for, so that CPU and CUDA tensors
work side by side in one process.
"""

import importlib
import itertools
import sys
import threading
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from types import FunctionType, ModuleType

from gemlite_edu.kernels.triton import FOLDER, INT4_KERNELS, KERNELS
from gemlite_edu.runners.interpreter.accesses import watch
from gemlite_edu.runners.interpreter.patched_triton import interpreting

_FILE_OF = {"unpack": "dequantize"} | {name: name for name in (*KERNELS, *INT4_KERNELS)}
_numbers = itertools.count()
_one_at_a_time = threading.RLock()  # the interpreter changes triton for the whole process


def launch(function, interpreted, grid, *arguments, watched=False, **meta):
    """Run a kernel that `kernel` or `replaced` gave.

    watched: in the interpreter, accesses outside of its tensors are a KernelFault.
    """
    if not interpreted:
        with _one_at_a_time:
            function[grid](*arguments, **meta)
        return
    named = zip(function.arg_names, arguments, strict=False)
    tensors = {name: value for name, value in named if hasattr(value, "data_ptr")}
    watching = watch(function.__name__, tensors) if watched else nullcontext()
    with _one_at_a_time, watching, interpreting():
        function[grid](*arguments, **meta)


@cache
def kernel(name, interpreted):
    """The jitted function `name` of the file `name`.py in one of the two modes."""
    package = _package("interpreted" if interpreted else "compiled")
    return getattr(_load(name, package, interpreted), name)


def replaced(name, interpreted, functions):
    """Like `kernel`, with {name: python function} in place of the functions of that name.

    They may be a kernel, or `unpack`; the names of the file that they come into are in their scope,
    those of the place where they were written are not.
    """
    return _replaced(name, interpreted, tuple(functions.items()))


@lru_cache(maxsize=32)
def _replaced(name, interpreted, functions):
    package = _package(f"replaced_{next(_numbers)}")
    for own_name, function in functions:
        if own_name not in _FILE_OF:
            raise ValueError(f"{own_name!r} cannot be replaced: there are {', '.join(_FILE_OF)}")
        module = _load(_FILE_OF[own_name], package, interpreted)
        setattr(module, own_name, _jitted(_in_scope_of(module, function), interpreted))
        if own_name == "unpack":
            module.MASKED_IN_PLACE = type(module.MASKED_IN_PLACE)(False)
    return getattr(_load(name, package, interpreted), name)


def _package(mode):
    """A package beside this one, with the same files, for the modules of one mode."""
    package = ModuleType(f"{__name__}_{mode}")
    package.__path__ = [str(FOLDER)]
    return sys.modules.setdefault(package.__name__, package)


def _load(name, package, interpreted):
    with _mode(interpreted):
        return importlib.import_module(f"{package.__name__}.{name}")


def _jitted(function, interpreted):
    import triton

    with _mode(interpreted):
        return triton.jit(function)


@contextmanager
def _mode(interpreted):
    """While this lasts, `triton.jit` makes functions for that mode."""
    from triton import knobs

    with _one_at_a_time, knobs.runtime.scope():
        knobs.runtime.interpret = interpreted
        yield


def _in_scope_of(module, function):
    """The function, with a module's names as its globals."""
    function = getattr(function, "fn", function)  # as the learner may have jitted it
    copy = FunctionType(
        function.__code__,
        vars(module),
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__annotations__ = function.__annotations__
    return copy
