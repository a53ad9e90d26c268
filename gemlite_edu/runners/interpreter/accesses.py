"""Check every access of an interpreted kernel against the tensors that it was given.

The interpreter reads and writes wherever a pointer points, so one wrong offset crashes the process
or silently changes other data. `watch` checks the addresses first.
"""

import re
import traceback
from contextlib import contextmanager

import numpy as np

from gemlite_edu.kernels.errors import KernelFault

_WATCHED = {
    "create_masked_load": "reads",
    "create_masked_store": "writes",
    "create_atomic_rmw": "adds",
    "create_atomic_cas": "changes",
}


@contextmanager
def watch(kernel_name, tensors):
    """Within this context, an interpreted access outside `tensors` {name: tensor} is an error.

    Raises KernelFault with the program, the line, and the nearest of the tensors that the line
    names.
    """
    from triton.runtime.interpreter import InterpreterBuilder

    originals = {name: getattr(InterpreterBuilder, name) for name in _WATCHED}
    for name, original in originals.items():
        setattr(InterpreterBuilder, name, _checked(original, name, kernel_name, tensors))
    try:
        yield
    except Exception as error:
        fault = _fault_in(error)
        if fault is None:
            raise
        raise fault from None
    finally:
        for name, original in originals.items():
            setattr(InterpreterBuilder, name, original)


def _checked(original, name, kernel_name, tensors):
    def access(builder, *arguments):
        pointers = arguments[1] if name == "create_atomic_rmw" else arguments[0]
        mask = {
            "create_masked_load": lambda: arguments[1],
            "create_masked_store": lambda: arguments[2],
            "create_atomic_rmw": lambda: arguments[3],
        }.get(name, lambda: None)()
        active = np.ones(1, dtype=bool) if mask is None else mask.data
        size = pointers.get_element_ty().primitive_bitwidth // 8
        addresses = pointers.data[np.broadcast_to(active, pointers.data.shape)].astype(np.int64)
        outside = addresses[~_inside(addresses, size, tensors)]
        if outside.size:
            line = _line(kernel_name)
            where = f"{kernel_name}, program {tuple(builder.grid_idx)}" + (line and f", `{line}`")
            place = _place(outside[0], _named_in(line, tensors))
            raise KernelFault(f"{where}: {_WATCHED[name]} {place}")
        return original(builder, *arguments)

    return access


def _inside(addresses, size, tensors):
    inside = np.zeros(addresses.shape, dtype=bool)
    for tensor in tensors.values():
        start = tensor.data_ptr()
        inside |= (addresses >= start) & (addresses + size <= start + _span(tensor))
    return inside


def _span(tensor):
    """Bytes from the first element of a tensor to the end of its last one, gaps included."""
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()


def _named_in(line, tensors):
    """The tensors that the line names, or all if it names none: memory order alone is chance."""
    return {name: t for name, t in tensors.items() if re.search(rf"\b{name}\b", line)} or tensors


def _place(address, tensors):
    """Describe where an address lies, counted in elements of the nearest tensor."""

    def distance(item):
        start = item[1].data_ptr()
        return max(start - address, address - (start + _span(item[1]) - 1))

    name, tensor = min(tensors.items(), key=distance)
    index = int(address - tensor.data_ptr()) // tensor.element_size()
    elements = _span(tensor) // tensor.element_size()
    return f"outside of its tensors: element {index} of {name}, which has {elements}"


def _line(kernel_name):
    """The line of the kernel's text that is running, or "" if it is not known."""
    frames = [f for f in traceback.extract_stack() if f.name == kernel_name]
    return frames[-1].line or "" if frames else ""


def _fault_in(error):
    """The KernelFault inside the errors in which the interpreter has wrapped it, or None."""
    while error is not None:
        if isinstance(error, KernelFault):
            return error
        error = error.__cause__
    return None
