"""Which program of a launch has read, stored to, or atomically changed each element of a tensor.

Nothing orders the programs of a launch. So where one stores to an element, no other may touch it;
where one changes it atomically, no other may read it or store to it plainly. Programs are numbers
from 1 on.
"""

from dataclasses import dataclass

import numpy as np
import torch

READ, STORED, CHANGED = "reads", "writes", "changes"
_CONFLICTS = {READ: (STORED, CHANGED), STORED: (READ, STORED, CHANGED), CHANGED: (READ, STORED)}


@dataclass(frozen=True)
class Race:
    """Two programs that touch an element: the other one and what it did."""

    element: int
    other: int
    did: str


class Shadow:
    """What the programs of one launch did to the elements of a place in memory.

    As long as no program has changed the tensor, reads are only kept in a list.
    """

    def __init__(self, place):
        self._place = place
        self._reads = []
        self._of = None
        self.before = None  # the memory as it was before the launch changed it, or None
        self.is_unwritten = _is_filler(place.tensor)
        if self.is_unwritten:
            self._of = self._programs()

    def note(self, did, program, addresses, size):
        """Note an access. Returns a `Race`, an unwritten element that it needs, or None."""
        if self._of is None:
            if did == READ:
                self._reads.append((program, addresses, size))
                return None
            self._begin()
        if did != READ and self.before is None:
            self.before = self._place.flat().clone()
        at = self._place.elements_at(addresses, size)
        found = self._race(did, program, at)
        if found is None and self.is_unwritten and did != STORED:
            found = self._unwritten(at)
        self._of[did].note(program, at)
        return found

    def _begin(self):
        self._of = self._programs()
        for program, addresses, size in self._reads:
            self._of[READ].note(program, self._place.elements_at(addresses, size))
        self._reads.clear()

    def _programs(self):
        return {did: _Programs(self._place.elements) for did in _CONFLICTS}

    def _race(self, did, program, at):
        for other_did in _CONFLICTS[did]:
            others = self._of[other_did].besides(program, at)
            if others is not None and others.any():
                first = np.flatnonzero(others)[0]
                return Race(int(at[first]), int(others[first]), other_did)
        return None

    def _unwritten(self, at):
        written = self._of[STORED].any_at(at) | self._of[CHANGED].any_at(at)
        return None if written.all() else int(at[~written][0])


class _Programs:
    """For each element the first program that did something, and another one that did so too."""

    def __init__(self, elements):
        self._first = np.zeros(elements, dtype=np.int32)
        self._another = np.zeros(elements, dtype=np.int32)
        self._is_empty = True

    def note(self, program, at):
        self._is_empty = False
        first = self._first[at]
        self._first[at] = np.where(first == 0, program, first)
        others = at[(first != 0) & (first != program)]
        if others.size:
            self._another[others] = program

    def besides(self, program, at):
        """For each element a program other than this one that did it, or 0; None: nobody did."""
        if self._is_empty:
            return None
        first = self._first[at]
        return np.where(first == program, self._another[at], first)

    def any_at(self, at):
        return self._first[at] != 0


def _is_filler(tensor):
    """True if a tensor holds what `torch.empty` is filled with, and so nothing that was written.

    That is NaN, or for sums in int32 the largest integer; words and codes are never fillers.
    """
    if not tensor.numel():
        return False
    if tensor.dtype.is_floating_point and tensor.element_size() > 1:
        return bool(tensor.flatten()[0].isnan()) and bool(tensor.isnan().all())
    largest = torch.iinfo(torch.int32).max
    return tensor.dtype == torch.int32 and bool((tensor == largest).all())
