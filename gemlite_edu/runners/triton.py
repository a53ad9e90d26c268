"""Load the Triton kernels once for each of Triton's two modes, compiled and interpreted.

A kernel's file is an ordinary module, whose functions `triton.jit` turns into compiled or
interpreted kernels. Loading the file, and the files that it imports, once per mode lets CPU and
CUDA tensors work side by side in one process.
"""

import importlib
import itertools
import sys
import threading
from contextlib import nullcontext
from functools import cache, lru_cache
from types import FunctionType, ModuleType

from gemlite_edu.kernels.triton import FOLDER, INT4_KERNELS, KERNELS
from gemlite_edu.runners.ahead_of_time import PlannedLaunch
from gemlite_edu.runners.interpreter.patched_triton import interpreting
from gemlite_edu.runners.interpreter.python_names import PYTHON_NAMES
from gemlite_edu.runners.interpreter.watched import run_watched

_FILE_OF = {"unpack": "dequantize"} | {name: name for name in (*KERNELS, *INT4_KERNELS)}
_numbers = itertools.count()
_one_at_a_time = threading.RLock()  # the interpreter changes triton for the whole process


def launch(function, interpreted, grid, *arguments, watched=False, **meta):
    """Run a kernel that `kernel` or `replaced` returned.

    watched: the interpreter raises KernelFault for what `run_watched` finds.
    Raises PlannedLaunch for tensors on the device "meta", which have no memory.
    """
    if any(getattr(value, "is_meta", False) for value in arguments):
        raise PlannedLaunch(function, arguments, meta)

    def run():
        with interpreting() if interpreted else nullcontext():
            function[grid](*arguments, **meta)

    with _one_at_a_time:
        if interpreted and watched:
            named = zip(function.arg_names, arguments, strict=False)
            tensors = {name: value for name, value in named if hasattr(value, "data_ptr")}
            run_watched(function.__name__, tensors, run)
        else:
            run()


@cache
def kernel(name, interpreted):
    """The jitted function `name` of the file `name`.py in one of the two modes."""
    mode = "interpreted" if interpreted else "compiled"
    return getattr(_load(name, mode, interpreted), name)


def interpreted(function):
    """A function of one's own, jitted or not, for the interpreter; `launch` runs it."""
    function = getattr(function, "fn", function)
    return _jitted(_with_globals(function, function.__globals__ | PYTHON_NAMES), interpreted=True)


def replaced(name, interpreted, functions):
    """Like `kernel`, with the functions in the file replaced by {name: python function}.

    You may replace the kernel itself, or `unpack`. A replacement sees the global names of the
    kernel's file, not those of the file where it was written.
    """
    return _replaced(name, interpreted, tuple(functions.items()))


@lru_cache(maxsize=32)
def _replaced(name, interpreted, functions):
    mode = f"replaced_{next(_numbers)}"
    for own_name, function in functions:
        if own_name not in _FILE_OF:
            raise ValueError(f"{own_name!r} cannot be replaced: there are {', '.join(_FILE_OF)}")
        module = _load(_FILE_OF[own_name], mode, interpreted)
        if interpreted:
            vars(module).update(PYTHON_NAMES)
        setattr(module, own_name, _jitted(_in_scope_of(module, function), interpreted))
        if own_name == "unpack":
            module.MASKED_IN_PLACE = type(module.MASKED_IN_PLACE)(False)
    return getattr(_load(name, mode, interpreted), name)


def _load(name, mode, interpreted):
    """The module of the file `name`.py, in a package beside this one for the modules of one mode.

    While it is imported, with the files that it imports, `triton.jit` makes functions for the mode.
    """
    from triton import knobs

    package = ModuleType(f"{__name__}_{mode}")
    package.__path__ = [str(FOLDER)]
    with _one_at_a_time, knobs.runtime.scope():
        sys.modules.setdefault(package.__name__, package)
        knobs.runtime.interpret = interpreted
        return importlib.import_module(f"{package.__name__}.{name}")


def _jitted(function, interpreted):
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    return InterpretedFunction(function) if interpreted else JITFunction(function)


def _in_scope_of(module, function):
    """A copy of the function that takes its globals from `module`."""
    return _with_globals(getattr(function, "fn", function), vars(module))  # it may be jitted


def _with_globals(function, names):
    """A copy of the function that takes its globals from `names`."""
    copy = FunctionType(
        function.__code__,
        names,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__annotations__ = function.__annotations__
    return copy
