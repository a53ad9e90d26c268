"""Give each tensor of an interpreted launch addresses of its own, far from those of the others.

The interpreter adds offsets to addresses and then reads wherever they point. With made-up
addresses, each tensor in an empty room of 2**40 bytes, an address tells its tensor however far it
is off. `Memory` translates made-up addresses back just before an access.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gemlite_edu.runners.interpreter.shadow import Shadow

_ROOM_BITS = 40
_ALIGNMENT = 255  # the low bits of an address, which a tensor keeps


@dataclass
class Place:
    """A tensor and its addresses: real ones from `real` on, made-up ones from `start` on."""

    name: str
    tensor: object
    start: int
    shadow: Shadow = field(init=False)

    def __post_init__(self):
        self.real = self.tensor.data_ptr()
        self.unit = self.tensor.element_size()
        self.shadow = Shadow(self)

    @cached_property
    def elements(self):
        """How many elements lie between the first and the last one, gaps included."""
        if not self.tensor.numel():
            return 0
        steps = zip(self.tensor.shape, self.tensor.stride(), strict=True)
        return 1 + sum((size - 1) * step for size, step in steps)

    @property
    def end(self):
        return self.start + self.elements * self.unit

    def elements_at(self, addresses, size):
        """The elements that accesses of `size` bytes at the addresses touch."""
        first = (addresses.astype(np.int64) - self.start) // self.unit
        if size <= self.unit:
            return first.ravel()
        return (first.ravel()[:, None] + np.arange(size // self.unit)).ravel()

    def flat(self):
        """The tensor's memory, gaps included, as a tensor with one axis."""
        return self.tensor.as_strided((self.elements,), (1,))


class Memory:
    """The tensors {name: tensor} of one launch."""

    def __init__(self, tensors):
        self.places = [
            Place(name, tensor, ((2 * number + 1) << _ROOM_BITS) + (tensor.data_ptr() & _ALIGNMENT))
            for number, (name, tensor) in enumerate(tensors.items())
        ]

    def made_up(self, real):
        """The made-up address of the tensor that begins at a real one."""
        return next(place.start for place in self.places if place.real == real)

    def resolve(self, pointers, active, size):
        """([(place, its made-up addresses)], real addresses of all pointers, strays).

        pointers: made-up addresses; active: those that the access reaches. strays: the addresses
        outside of all tensors; if there are any, the rest of the answer is empty.
        """
        reached = pointers if active is None else pointers[active]
        if not reached.size:
            return [], pointers, reached
        low, high = int(reached.min()), int(reached.max())
        place = self._room(low)
        if place and place.start <= low and high + size <= place.end:
            return [(place, reached)], pointers + _distance(place), reached[:0]
        return self._resolve_each(pointers, reached, size)

    def _resolve_each(self, pointers, reached, size):
        parts, real, stray = [], pointers.copy(), np.ones(reached.shape, dtype=bool)
        for place in self.places:
            start, last = np.uint64(place.start), np.uint64(max(place.end - size + 1, place.start))
            inside = (reached >= start) & (reached < last)
            if inside.any():
                parts.append((place, reached[inside]))
                stray &= ~inside
            here = (pointers >= start) & (pointers < last)
            real[here] = (pointers + _distance(place))[here]
        return ([], pointers, reached[stray]) if stray.any() else (parts, real, reached[:0])

    def _room(self, address):
        room = address >> _ROOM_BITS
        return self.places[room // 2] if room % 2 and room // 2 < len(self.places) else None

    def nearest(self, address):
        """(The tensor nearest to an address, how many elements the address is from its start)."""
        place = min(self.places, key=lambda p: max(p.start - address, address - p.end))
        return place, (address - place.start) // place.unit


def _distance(place):
    """What to add to a made-up address, modulo 2**64, to get the real one."""
    return np.uint64((place.real - place.start) % 2**64)
