"""What a kernel promises the compiler of its numbers: a GPU relies on it, so it must be true.

`tl.multiple_of` is held to the first element of each axis alone, since a block of consecutive
offsets is rightly called a multiple of its length.
"""

import numpy as np


def _multiple_of(numbers, axis, value):
    first = numbers.take([0], axis)
    return first % value == 0


def _contiguous(numbers, axis, value):
    return np.diff(_runs(numbers, axis, value)) == 1


def _constant(numbers, axis, value):
    return np.diff(_runs(numbers, axis, value)) == 0


def _runs(numbers, axis, value):
    """The numbers along an axis, in runs of `value`; those beyond the last whole run are left."""
    lines = np.moveaxis(numbers, axis, -1)
    length = min(value, lines.shape[-1])
    whole = lines[..., : lines.shape[-1] // length * length]
    return whole.reshape(-1, length).astype(np.int64)


def _checked(name, is_true):
    def hint(input, values):
        if not hasattr(input, "handle"):
            return input  # the number of a loop
        values = values if isinstance(values, list | tuple) else [values]
        numbers = input.handle.data
        if len(values) != max(1, len(input.shape)):
            raise ValueError(f"tl.{name} takes one value for each axis, got {len(values)}")
        for axis, value in enumerate(values):
            value = getattr(value, "value", value)
            is_address = input.dtype.is_ptr()
            if not is_address and not np.all(is_true(numbers, axis, value)):
                raise ValueError(f"tl.{name} promises {value}, which is not true here")
        return input

    return hint


HINTS = {
    "multiple_of": _checked("multiple_of", _multiple_of),
    "max_contiguous": _checked("max_contiguous", _contiguous),
    "max_constancy": _checked("max_constancy", _constant),
}
