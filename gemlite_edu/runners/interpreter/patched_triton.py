"""Install Triton's interpreter for one launch, and remove it afterwards.

While it runs, the interpreter patches `triton.language` and does not undo all of it, so a kernel
compiled later in the same process would fail. It also lacks the functions that triton itself
implements in Triton (`tl.zeros`, `tl.cdiv`), unless TRITON_INTERPRET is set for the whole process.
"""

import inspect
from contextlib import contextmanager
from functools import cache


@contextmanager
def interpreting():
    """Within this context, functions jitted for the interpreter can be launched."""
    from triton.runtime import interpreter

    places = _places()
    before = [dict(vars(place)) for place in places]
    try:
        _patch_after_the_interpreter()
        _replace_builtins_once()
        for module, name, function in _written_in_triton():
            setattr(module, name, function)
            module.interpreter_semantic = interpreter.interpreter_semantic  # their code looks it up
        yield
    finally:
        for place, names in zip(places, before, strict=True):
            _restore(place, names)


def _patch_after_the_interpreter():
    """Fix `tensor.__index__`: Triton 3.6 converts a one-element array to int, numpy 2.4 refuses."""
    from triton.runtime import interpreter

    original = interpreter._patch_lang_tensor

    def patched(tensor, *others):
        original(tensor, *others)
        tensor.__index__ = lambda self: int(self.handle.data.item())

    interpreter._patch_lang_tensor = patched


def _replace_builtins_once():
    """Replace triton's builtins once, instead of at every call of a function that a kernel uses.

    The interpreter's repeated search took a quarter of its time and found nothing after the first.
    """
    from triton.runtime import interpreter

    original = interpreter._patch_builtin
    found = {place: _builtins(place) for place in _places()}

    def patched(place, *others):
        names = found[place].items()
        if any(getattr(place, name) is function for name, function in names):
            original(place, *others)

    interpreter._patch_builtin = patched


@cache
def _builtins(place):
    """{name: function} of the builtins in a module or class of triton that is not yet patched."""
    from triton.language import core

    return {name: f for name, f in inspect.getmembers(place) if core.is_builtin(f)}


def _places():
    """Every module and class of triton that the interpreter patches."""
    import triton.language as tl
    from triton.language import core, standard
    from triton.runtime import interpreter

    descriptor = core.tensor_descriptor_base
    return [tl, core, standard, tl.math, core.tensor, core.dtype, descriptor, interpreter]


@cache
def _written_in_triton():
    """[(module, name, interpretable function)] for the functions that triton wrote in Triton."""
    import triton.experimental.gluon  # noqa: F401  a launch imports it, and it must see tl as it was
    import triton.language as tl
    from triton.language import standard
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    return [
        (module, name, InterpretedFunction(value.fn))
        for module in (tl, standard)
        for name, value in vars(module).items()
        if isinstance(value, JITFunction)
    ]


def _restore(place, names):
    for name in vars(place).keys() - names.keys():
        delattr(place, name)
    for name, value in names.items():
        if vars(place).get(name) is not value:
            setattr(place, name, value)
