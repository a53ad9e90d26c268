"""Numbers that no draw by lot gives, such as 0 and 1e30, put among those drawn.

A right answer treats them as all others. One that rounds too early, takes the bits of a smaller
type, or writes nothing where the result is 0 fails on them alone.
"""

import torch

_FIRST, _EVERY = 3, 11
FLOATS = (0, 1e-40, 1e20, -1e-30, 1e-12, -1e10, 1e-6, -1e-4, 0.01, 1e6, -1e30, 1e38)


def among(drawn, rare, run=1):
    """The numbers of `drawn`, but each eleventh run of so many is one of the rare ones, in turn."""
    runs = drawn.view(-1, run)[_FIRST::_EVERY]
    runs[:] = _in_turn(rare, len(runs), drawn.dtype)
    return drawn


def scaled(drawn, factors, run):
    """The numbers of `drawn`, but each eleventh run is multiplied by one of the factors, in turn.

    Factors that are powers of two, or 0, keep a sum exact that is made of one run.
    """
    runs = drawn.view(-1, run)[_FIRST::_EVERY]
    runs *= _in_turn(factors, len(runs), drawn.dtype)
    return drawn


def _in_turn(numbers, count, dtype):
    places = torch.arange(count) % len(numbers)
    return torch.tensor(numbers, dtype=dtype)[places, None]
