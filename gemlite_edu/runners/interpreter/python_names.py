"""Python's names that have another meaning in a Triton kernel, with that meaning."""

from functools import reduce

from gemlite_edu.runners.interpreter.loop_numbers import counted


def _smallest(*numbers):
    return _chosen(min, "minimum", numbers)


def _largest(*numbers):
    return _chosen(max, "maximum", numbers)


def _chosen(of_python, of_triton, numbers):
    """Triton's choice, element by element, if one of the numbers is a tensor; else Python's."""
    import triton.language as tl

    if not any(isinstance(number, tl.tensor) for number in numbers):
        return of_python(*numbers)
    return reduce(getattr(tl, of_triton), numbers)


PYTHON_NAMES = {"range": counted, "min": _smallest, "max": _largest}
