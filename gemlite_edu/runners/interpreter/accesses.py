"""Check every access of an interpreted kernel before it is made, and raise KernelFault.

The interpreter reads and writes wherever a pointer points, and runs the programs of a launch one
after the other. So a wrong offset would crash the process or silently change other data, and a
race between two programs would never show.
"""

import numpy as np

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.runners.interpreter.memory import Memory
from gemlite_edu.runners.interpreter.shadow import CHANGED, READ, STORED, Race

_KINDS = "masked_load", "masked_store", "atomic_rmw", "atomic_cas"
_HAS = {READ: "has read", STORED: "has written", CHANGED: "has changed atomically"}


class Accesses:
    """The accesses of one launch to its tensors {name: tensor}. where: says which line runs."""

    def __init__(self, tensors, where, undefined):
        self.memory = Memory(tensors)
        self._where = where
        self._undefined = undefined

    def patches(self, builder_class):
        """{method of the interpreter's builder: the same, with its accesses checked}."""
        names = [f"create_{name}" for name in _KINDS]
        load, store, rmw, cas = (getattr(builder_class, name) for name in names)

        def checked_load(builder, pointers, mask, other, *rest):
            active = _active(mask)
            real = self._reach(builder, pointers, active, READ)
            if other is None and active is not None:
                other = self._undefined.of_lanes(pointers)
            return load(builder, real, mask, other, *rest)

        def checked_store(builder, pointers, value, mask, *rest):
            active = _active(mask)
            real = self._reach(builder, pointers, active, STORED)
            result = store(builder, real, value, mask, *rest)
            lanes = (pointers.data, real.data, value.data)
            lanes = lanes if active is None else tuple(data[active] for data in lanes)
            self._refuse_lost(pointers.get_element_ty(), *lanes)
            return result

        def checked_rmw(builder, operation, pointers, value, mask, *rest):
            real = self._reach(builder, pointers, _active(mask), CHANGED)
            return rmw(builder, operation, real, value, mask, *rest)

        def checked_cas(builder, pointers, *rest):
            return cas(builder, self._reach(builder, pointers, None, CHANGED), *rest)

        def refused(builder, pointers, *rest):
            raise KernelFault(
                f"{self._where()}: makes a number of an address, which is another one on a GPU"
            )

        checked = checked_load, checked_store, checked_rmw, checked_cas
        return dict(zip(names, checked, strict=True)) | {"create_ptr_to_int": refused}

    def _reach(self, builder, pointers, active, did):
        """The pointers with real addresses, if the access is allowed."""
        size = pointers.get_element_ty().primitive_bitwidth // 8 or 1
        parts, real, stray = self.memory.resolve(pointers.data, active, size)
        if stray.size:
            raise KernelFault(f"{self._where()}: {did} {self._place_of(int(stray.flat[0]))}")
        for place, addresses in parts:
            found = place.shadow.note(did, _number_of(builder), addresses, size)
            if found is not None:
                raise KernelFault(f"{self._where()}: {did} {_why_not(found, place, builder)}")
        return type(pointers)(real, pointers.dtype)

    def _place_of(self, address):
        """Describe a stray address, counted in elements of the tensor that it belongs to."""
        place, index = self.memory.nearest(address)
        return (
            f"outside of its tensors: element {index} of {place.name}, which has {place.elements}"
        )

    def _refuse_lost(self, dtype, pointers, real, values):
        """Raise if lanes of one store gave an element different values: any of them may win."""
        from triton.runtime.interpreter import _get_np_dtype, _interpreter

        everywhere = np.ones(real.shape, dtype=bool)
        nothing = np.zeros(real.shape, dtype=values.dtype)
        kept = _interpreter.load(real, everywhere, nothing, _get_np_dtype(dtype))
        lost = _bits(kept) != _bits(values)
        if lost.any():
            place, index = self.memory.nearest(int(pointers[lost].flat[0]))
            raise KernelFault(
                f"{self._where()}: lanes write different values to element {index} of {place.name} "
                "at once, and any of them may stay"
            )


def _active(mask):
    """The lanes that an access reaches, or None if it reaches all."""
    lanes = np.asarray(getattr(mask, "data", mask)).astype(bool)  # a block of int1 may hold ints
    return None if lanes.all() else lanes


def _bits(data):
    return data if data.dtype == bool else data.view(f"u{data.itemsize}")


def _number_of(builder):
    x, y, z = builder.grid_idx
    _, height, depth = builder.grid_dim
    return (x * height + y) * depth + z + 1


def _program(number, builder):
    _, height, depth = builder.grid_dim
    rest, z = divmod(number - 1, depth)
    return (*divmod(rest, height), z)


def _why_not(found, place, builder):
    if not isinstance(found, Race):
        return f"element {found} of {place.name}, which nothing has written"
    other = f"program {_program(found.other, builder)} {_HAS[found.did]}"
    return (
        f"element {found.element} of {place.name}, which {other}, and nothing orders two programs"
    )
