"""Install Triton's interpreter for one launch, and remove it afterwards.

While it runs, the interpreter patches `triton.language` and does not undo all of it, so a kernel
compiled later in the same process would fail. It also lacks the functions that triton itself
implements in Triton (`tl.zeros`, `tl.cdiv`), unless TRITON_INTERPRET is set for the whole process.
"""

import inspect
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from gemlite_edu.runners.interpreter.brain_floats import dot_of_values
from gemlite_edu.runners.interpreter.hints import HINTS
from gemlite_edu.runners.interpreter.loop_numbers import counted
from gemlite_edu.runners.interpreter.methods import methods


@contextmanager
def interpreting():
    """Within this context, functions jitted for the interpreter can be launched."""
    from triton.runtime import interpreter

    own, builder = _triton(), interpreter.interpreter_builder
    before = {place: dict(vars(place)) for place in (*own.builtins, interpreter)}
    options, create_dot = builder.options, type(builder).create_dot
    try:
        type(builder).create_dot = dot_of_values(create_dot)
        # It would repeat all integer arithmetic in 64 bits, and only `debug` reports what it finds.
        builder.options = replace(options, sanitize_overflow=options.debug)
        interpreter._patch_builtin = _patch_builtin
        interpreter._patch_lang_tensor = _patch_lang_tensor
        interpreter._get_np_dtype = _get_np_dtype
        interpreter._patch_lang_core = _patch_lang_core
        for module, name, function in own.written_in_triton:
            setattr(module, name, function)
            module.interpreter_semantic = interpreter.interpreter_semantic  # their code looks it up
        for name, method in own.methods.items():
            setattr(interpreter.tl.tensor, name, method)
        yield
    finally:
        builder.options, type(builder).create_dot = options, create_dot
        for place, names in before.items():
            for name in vars(place).keys() - names.keys():
                delattr(place, name)
            for name, value in names.items():
                if vars(place).get(name) is not value:
                    setattr(place, name, value)


class _Triton(NamedTuple):
    """What there is in triton before anything is changed.

    builtins: {module or class that the interpreter changes: {name: builtin}}
    written_in_triton: [(module, name, the function for the interpreter)]
    methods: {name: the method of a tensor for the interpreter}
    patch_builtin, patch_lang_tensor, get_np_dtype, patch_lang_core: the interpreter's own.
    np_dtypes: {name of a scalar's type: what get_np_dtype says of it}, as far as it was asked.
    """

    builtins: dict
    written_in_triton: list
    methods: dict
    patch_builtin: Callable
    patch_lang_tensor: Callable
    get_np_dtype: Callable
    patch_lang_core: Callable
    np_dtypes: dict


@cache
def _triton():
    import triton.experimental.gluon  # noqa: F401  a launch imports it, and it must see tl as it was
    import triton.language as tl
    from triton.language import core, standard
    from triton.runtime import interpreter
    from triton.runtime.jit import JITFunction

    places = tl, core, standard, tl.math, core.tensor, core.dtype, core.tensor_descriptor_base
    builtins = {
        place: {name: f for name, f in inspect.getmembers(place) if core.is_builtin(f)}
        for place in places
    }
    written_in_triton = [
        (module, name, interpreter.InterpretedFunction(value.fn))
        for module in (tl, standard)
        for name, value in vars(module).items()
        if isinstance(value, JITFunction)
    ]
    names = "_patch_builtin", "_patch_lang_tensor", "_get_np_dtype", "_patch_lang_core"
    own = (getattr(interpreter, name) for name in names)
    return _Triton(builtins, written_in_triton, methods(tl), *own, np_dtypes={})


def _patch_builtin(place, *others):
    """The interpreter's, where builtins are still to be replaced.

    It looks for them at every call of a function that a kernel uses. That search took a quarter of
    its time, and found nothing after the first call: it replaces all of a place or none.
    """
    name, function = next(iter(_triton().builtins[place].items()))
    if getattr(place, name) is function:
        _triton().patch_builtin(place, *others)


def _get_np_dtype(dtype):
    """The interpreter's, which makes a table of all types at every call."""
    scalar, known = dtype.scalar, _triton().np_dtypes
    if scalar.name not in known:
        known[scalar.name] = _triton().get_np_dtype(scalar)
    return known[scalar.name]


def _patch_lang_tensor(tensor, *others):
    """Triton 3.6 makes an int of a one-element array, which numpy 2.4 no longer does.

    It also calls a tensor of many elements true. Triton's own functions rely on that, and Triton's
    compiler refuses it in a kernel.
    """
    _triton().patch_lang_tensor(tensor, *others)
    tensor.__index__ = lambda self: int(self.handle.data.item())
    tensor.__bool__ = _truth_of


def _truth_of(tensor):
    if tensor.handle.data.size > 1:
        if sys._getframe(1).f_globals["__name__"].startswith("triton."):
            return True
        raise ValueError(
            f"a tensor of {tensor.handle.data.size} elements is neither true nor false: "
            "choose with tl.where, and join comparisons with & and |"
        )
    return bool(tensor.handle.data.item())


def _patch_lang_core(lang, *others):
    """The interpreter's, with loops that count as on a GPU, and hints that must be true."""
    _triton().patch_lang_core(lang, *others)
    lang.range = counted
    for name, hint in HINTS.items():
        setattr(lang, name, hint)
