"""The numbers that a loop of an interpreted kernel counts, with a GPU's arithmetic.

In Triton's language, a loop over `range` counts in int32: sums wrap around, and division drops the
fraction. The interpreter takes Python's integers, whose division rounds down: -1 // 2 is -1.
"""


class LoopNumber(int):
    """An int32. What it makes with another integer is one too."""

    def __floordiv__(self, other):
        return _made(_quotient, self, other)

    def __rfloordiv__(self, other):
        return _made(_quotient, other, self)

    def __mod__(self, other):
        return _made(_remainder, self, other)

    def __rmod__(self, other):
        return _made(_remainder, other, self)

    def __neg__(self):
        return _wrapped(-int(self))

    def to(self, dtype):
        """A tensor of another type, as Triton makes of the number that a loop counts."""
        from triton.runtime.interpreter import interpreter_semantic

        return interpreter_semantic.to_tensor(int(self)).to(dtype)


def counted(*bounds, **_):
    """Like Python's range and Triton's, whose options say nothing about the numbers."""
    return map(LoopNumber, range(*bounds))


def _made(operation, left, right):
    if not isinstance(left, int) or not isinstance(right, int):
        return NotImplemented
    return _wrapped(operation(int(left), int(right)))


def _wrapped(number):
    return LoopNumber((number + 2**31) % 2**32 - 2**31)


def _quotient(left, right):
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _remainder(left, right):
    return left - right * _quotient(left, right)


def _plain(name):
    operation = getattr(int, name)
    return lambda self, other: _made(operation, self, other)


for _name in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift"):
    setattr(LoopNumber, f"__{_name}__", _plain(f"__{_name}__"))
    setattr(LoopNumber, f"__r{_name}__", _plain(f"__r{_name}__"))
