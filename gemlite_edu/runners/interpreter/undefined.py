"""Find values that a GPU leaves undefined, and put garbage in their place.

The interpreter gives them values: 0 for lanes of a load that are masked off and have no `other`,
whatever the CPU makes of a shift by 32. A kernel may compute such values, as long as it stores
nothing that depends on them. So a launch runs once as the interpreter does it, and again with
garbage if it met any: what then differs depends on them.
"""

import numpy as np

GARBAGE = (np.nan, 0xC3), (3e4, 0x5A)  # floats, bytes of integers: max() is blind to a NaN


class Undefined:
    """The undefined values of one run of a launch. where: says which line runs.

    garbage: what they are, one of GARBAGE; None: what the interpreter makes of them.
    cause: where the first one came from and why, as a sentence's beginning, or None.
    """

    def __init__(self, where, garbage):
        self.cause = None
        self._where = where
        self._garbage = garbage

    def of_lanes(self, pointers):
        """What a load without `other` gives the lanes that its mask leaves out; None: its own."""
        from triton.runtime.interpreter import TensorHandle, _get_np_dtype

        self._note("loads with a mask and without `other`, so the lanes masked off hold anything")
        if self._garbage is None:
            return None
        dtype = pointers.get_element_ty()
        data = np.full(pointers.data.shape, self._number(_get_np_dtype(dtype)))
        return TensorHandle(data, dtype)

    def patches(self, builder_class):
        """{method of the interpreter's builder: the same, with an eye on undefined results}."""
        makers = {
            self._shift: ("create_shl", "create_lshr", "create_ashr"),
            self._division: ("create_sdiv", "create_udiv", "create_srem", "create_urem"),
            self._conversion: ("create_fp_to_si", "create_fp_to_ui"),
        }
        return {
            name: make(getattr(builder_class, name))
            for make, names in makers.items()
            for name in names
        }

    def _shift(self, original):
        def shift(builder, value, count):
            width, counts = value.data.itemsize * 8, count.data
            wrong = None
            if counts.max() >= width or counts.min() < 0:
                wrong = (counts >= width) | (counts < 0)
                self._note(f"shifts a number of {width} bits by {counts[wrong].flat[0]}")
            return self._spoiled(original(builder, value, count), wrong)

        return shift

    def _division(self, original):
        def division(builder, value, divisor):
            wrong = None
            if not divisor.data.all():
                wrong = divisor.data == 0
                self._note("divides an integer by 0")
            return self._spoiled(original(builder, value, divisor), wrong)

        return division

    def _conversion(self, original):
        def conversion(builder, value, to):
            from triton.runtime.interpreter import _get_np_dtype

            limits, whole = np.iinfo(_get_np_dtype(to)), np.trunc(value.data)
            wrong = ~((whole >= limits.min) & (whole <= limits.max))
            if wrong.any():
                self._note(f"makes {value.data[wrong].flat[0]} a number of type {to.scalar}")
            return self._spoiled(original(builder, value, to), wrong)

        return conversion

    def _note(self, why):
        if self.cause is None:
            self.cause = f"{self._where()}: {why}"

    def _spoiled(self, handle, wrong):
        if wrong is None or self._garbage is None:
            return handle
        data = np.where(wrong, self._number(handle.data.dtype), handle.data)
        return type(handle)(data, handle.dtype)

    def _number(self, dtype):
        number, byte = self._garbage
        if dtype.kind == "f":
            return dtype.type(number)
        return np.bool_(True) if dtype.kind == "b" else np.frombuffer(bytes([byte]) * 8, dtype)[0]
