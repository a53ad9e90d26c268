"""Run a benchmark script on toy cards, and keep what it did there, so that it can be done again.

The script runs in its own process, where it might set the clock of its card. So the checker repeats
the script's calls on a card of its own, which must show the same times.
"""

from dataclasses import dataclass, field, fields
from operator import itemgetter

import torch

from gemlite_lab.lesson.toy_card import ToyCard, ToyWeights

_settings_of = itemgetter(*(f.name for f in fields(ToyCard) if f.init))
_CLOCK, _LAUNCH, _SYNCHRONIZE = 0.0, 1.0, 2.0  # kinds of calls


@dataclass(frozen=True, eq=False)
class SlowerCard(ToyCard):
    """A toy card that works and compiles longer than its settings say; its clock alone shows it.

    Nor do its settings say which launch is the first to be interrupted.
    """

    _slowness: float = field(default=1.0, init=False, repr=False)
    _interrupted_first: int = field(default=0, init=False, repr=False)

    def _compilation_us(self):
        return super()._compilation_us() * self._slowness

    def _work_us(self, weights):
        return super()._work_us(weights) * self._slowness

    def _is_interrupted(self, first):
        return super()._is_interrupted(self._interrupted_first)


@dataclass(frozen=True, eq=False)
class RecordingCard(SlowerCard):
    """A toy card that keeps its calls: launches, waits, and what its clock showed.

    Reading the clock raises RuntimeError once the card's settings or its classes are others.
    """

    calls: list = field(default_factory=list, init=False, repr=False)
    _as_made: tuple = field(default=(), init=False, repr=False)

    def __post_init__(self):
        super().__post_init__()
        made = type(self), _settings_of(vars(self))
        object.__setattr__(self, "_as_made", made)

    def check_unchanged(self):
        """Raise RuntimeError if somebody has changed the card's settings or its classes."""
        made = type(self), _settings_of(vars(self))
        if made != self._as_made or any(vars(kind) != held for kind, held in _CLASSES):
            raise RuntimeError(
                "the card's settings or its class were changed: only call the card's methods"
            )

    def clock(self):
        self.check_unchanged()
        now = super().clock()
        self.calls.append((_CLOCK, now))
        return now

    def launch(self, weights):
        super().launch(weights)
        self.calls.append((_LAUNCH, weights))

    def synchronize(self):
        super().synchronize()
        self.calls.append((_SYNCHRONIZE, 0.0))


@dataclass(frozen=True, eq=False)
class PatientCard(RecordingCard):
    """A card that waits for all work before the clock is read for the first time."""

    def clock(self):
        if not any(kind == _CLOCK for kind, _ in self.calls):
            self.synchronize()
        return super().clock()


_CLASSES = [(kind, dict(vars(kind))) for kind in PatientCard.__mro__[:-1]]


def new_card(kind, settings, slowness, interrupted_first):
    """A card of this kind that works `slowness` times as long as its settings say."""
    card = kind(**settings)
    object.__setattr__(card, "_slowness", slowness)
    object.__setattr__(card, "_interrupted_first", interrupted_first)
    return card


def prepare():
    """Nothing is to be done before the first script."""


def measure(script, settings, slowness, is_patient, first_interruptions, nbytes):
    """[(the script's result, its card's calls)] for a new card for each first interruption.

    settings: of `ToyCard`. The calls are a float64 tensor (calls, 3), in which weights are their
    number and their bytes. It ends with the first result that is None.
    """
    kind, found = PatientCard if is_patient else RecordingCard, []
    for launch in first_interruptions:
        card = new_card(kind, settings, slowness, launch)
        value = script(card, nbytes)
        card.check_unchanged()
        found.append((value, _as_numbers(card.calls)))
        if value is None:
            break
    return found


def _as_numbers(calls):
    number_of, rows = {}, []
    for kind, value in calls:
        if kind == _LAUNCH:
            rows.append((kind, number_of.setdefault(id(value), len(number_of)), value.nbytes))
        else:
            rows.append((kind, value, 0.0))
    return torch.tensor(rows, dtype=torch.float64).reshape(-1, 3)


def has_launched(calls):
    """True if one of the recorded calls is a launch."""
    return bool((calls[:, 0] == _LAUNCH).any())


def timed_launches(calls):
    """The numbers, counted from 0, of the launches between two readings of the clock."""
    is_launch, is_clock = calls[:, 0] == _LAUNCH, calls[:, 0] == _CLOCK
    readings = is_clock.cumsum(0)
    is_between = (readings > 0) & (readings < readings[-1:])
    return (is_launch.cumsum(0) - 1)[is_launch & is_between].tolist()


def has_read_the_clock(calls):
    """True if one of the recorded calls reads the clock."""
    return bool((calls[:, 0] == _CLOCK).any())


def shows_the_same(card, calls):
    """True if these calls, on the new card `card`, read the clock as they were recorded to."""
    weights = {}
    for kind, first, second in calls.tolist():
        if kind == _LAUNCH:
            card.launch(weights.setdefault(first, ToyWeights(second)))
        elif kind == _SYNCHRONIZE:
            card.synchronize()
        elif card.clock() != first:
            return False
    return True
