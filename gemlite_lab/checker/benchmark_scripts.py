"""Exercises of notebook 16: three benchmark scripts, each to be written without its flaw.

An answer runs on new toy cards. To find the trap that it fell into, the checker runs it again on
cards without some of their traps.
"""

import random
from dataclasses import dataclass, fields, replace

import torch

from gemlite_lab.checker.compare import is_close
from gemlite_lab.checker.exercise import FLOAT32_ROUNDING, CheckFailed, Exercise, number
from gemlite_lab.lesson.toy_card import ToyCard
from gemlite_lab.sandbox.toy_cards import PatientCard, has_launched, measure, shows_the_same

# A toy card has no noise. The tolerance is half the time that one untimed launch adds when 1000
# timed ones wait for it.
_TOLERANCE = 0.0005
# Each makes one card. Some card interrupts any given launch of a short script, and of a longer one
# at least one of any ten launches.
_INTERRUPTIONS = (*range(40), *range(40, 500, 10))
_REPEATED = 2  # cards whose calls the checker repeats
_FEWER = 10  # of these cards, one in so many has another bandwidth in each check
_LARGER_THAN_L2 = (  # GB/s, bytes of the L2, bytes of the weights
    *((1000, 8_000_000, 32_000_000), (500, 16_000_000, 20_000_000)),
    (2000, 4_000_000, 128_000_000),
)
_ANY_SIZE = (
    *((1000, 32_000_000, 8_000_000), (2000, 50_000_000, 15_000_000)),
    (500, 4_000_000, 16_000_000),
)
_OF_MANY_COPIES = (1000, 32_000_000, 2_500_000)


@dataclass(frozen=True)
class _OnCards:
    """Weights of `nbytes` bytes, to be timed on new cards like `card`.

    interruptions: for each card, the first launch that is interrupted. is_patient: the cards wait
        for all work before the clock is read for the first time.
    """

    card: ToyCard
    nbytes: int
    interruptions: tuple[int, ...]
    is_patient: bool = False

    def new_card(self, first_interruption):
        """The card that an answer got."""
        kind = PatientCard if self.is_patient else ToyCard
        settings = {f.name: getattr(self.card, f.name) for f in fields(self.card) if f.init}
        return kind(**settings | {"first_interruption": first_interruption})

    @property
    def label(self):
        sizes = f"{self.nbytes / 1e6:g} MB of weights, L2 of {self.card.l2_bytes / 1e6:g} MB"
        return f"{sizes}, {self.card.read_gb_per_s} GB/s"


def _cases(sizes, interruption_us=0.0, interruptions=(0,)):
    return [
        _OnCards(
            ToyCard(gb_per_s, l2_bytes, 4 * gb_per_s, interruption_us=interruption_us),
            nbytes,
            interruptions,
        )
        for gb_per_s, l2_bytes, nbytes in sizes
    ]


def _on_another_card(cases, seed):
    """One of the cases, with another bandwidth and with sizes that are as far apart."""
    case, scale = cases[seed % len(cases)], 1 + seed % 100003 / 100003
    card = replace(
        case.card,
        read_gb_per_s=case.card.read_gb_per_s * scale,
        l2_gb_per_s=case.card.l2_gb_per_s * scale,
        l2_bytes=round(case.card.l2_bytes * scale),
    )
    nbytes, interruptions = round(case.nbytes * scale), case.interruptions[::_FEWER]
    return replace(case, card=card, nbytes=nbytes, interruptions=interruptions)


def _right_us(case):
    return case.card.start_us + case.nbytes / (case.card.read_gb_per_s * 1e3)


def _expected(case):
    right = number(_right_us(case))
    return right, right * _TOLERANCE


def _run(name, answer, case):
    """The answer's number: the first wrong one of the cards, if there is one.

    Raises CheckFailed if the answer launched nothing on its card, because it computed the number or
    measured on a copy, and if it changed the card otherwise than by its methods.
    """
    right, bound = _expected(case)
    settings = {f.name: getattr(case.card, f.name) for f in fields(case.card) if f.init}
    found = answer.run(measure, settings, case.is_patient, case.interruptions, case.nbytes)
    runs = list(zip(case.interruptions, found, strict=False))
    for launch, (_, calls) in random.sample(runs, min(len(runs), _REPEATED)):
        if not shows_the_same(case.new_card(launch), calls):
            raise CheckFailed(f"{name} changed its card's clock: only call the card's methods")
    for _, (result, calls) in runs:
        value = number(result)
        if value is not None and not has_launched(calls):
            raise CheckFailed(
                f"{name} launched nothing on the card that it was given: measure there"
            )
        if value is None or not is_close(value, right, bound):
            break
    return value


def _without(**settings):
    """A function from a case to the same case on cards with these settings."""
    return lambda case: replace(case, card=replace(case.card, **settings))


def _on_patient_cards(case):
    return replace(case, is_patient=True)


def _without_l2(case):
    return _without(l2_gb_per_s=case.card.read_gb_per_s)(case)


_STILL_BUSY = {"the card had nothing left to do when the clock was first read": _on_patient_cards}
_ASYNCHRONOUS = {"a launch returned only when its work is done": _without(asynchronous=False)}
_COMPILES = {"the first launch did not compile": _without(compile_us=0.0)}
_WARM = {"the weights were never found in the L2": _without_l2}
_INTERRUPTED = {"no launch was interrupted": _without(interruption_us=0.0)}


def _script(name, hints, cases, traps):
    return Exercise(
        name=name,
        notebook="16_benchmarks",
        output="microseconds",
        dtype=torch.float64,
        is_kernel=False,
        hints=hints,
        cases=cases,
        fresh=lambda seed: [_on_another_card(cases(), seed)],
        expected=_expected,
        run=lambda answer, case, device: _run(name, answer, case),
        traps=traps,
        tolerance=f"{_TOLERANCE:.2%}",
        mistake_tolerance=FLOAT32_ROUNDING,
        runs_in="gemlite_lab.sandbox.toy_cards",
    )


BENCHMARK_EXERCISES = (
    _script(
        "script_1",
        hints=(
            "100 launches in 200 microseconds: what can a launch have done when it returns?",
            "Read the clock only when the card has nothing left to do. When is that so?",
            "It is so behind synchronize(): you need it ahead of the first timed launch, and again "
            "behind the last.",
        ),
        cases=lambda: _cases(_LARGER_THAN_L2),
        traps=_STILL_BUSY | _ASYNCHRONOUS | _COMPILES,
    ),
    _script(
        "script_2",
        hints=(
            "Where do the weights come from in the first launch, and where in the second?",
            "Add up the bytes of all that you launch in turn, and compare with card.l2_bytes.",
            "Launch copies in turn, so many that together they exceed the L2: what was read "
            "longest ago leaves it first.",
        ),
        cases=lambda: _cases((*_ANY_SIZE, _OF_MANY_COPIES)),
        traps=_STILL_BUSY | _ASYNCHRONOUS | _COMPILES | _WARM,
    ),
    _script(
        "script_3",
        hints=(
            "Print the fifty times. Which differ from the others, and what happened there?",
            "A single time of 1000 among fifty moves their mean by 20. Which summary of fifty "
            "numbers does it leave where it was?",
            "Many short runs and their median. A run of hundreds of launches hardly ever escapes "
            "an interruption.",
        ),
        cases=lambda: _cases(_ANY_SIZE, 5000.0, _INTERRUPTIONS),
        traps=_STILL_BUSY | _ASYNCHRONOUS | _COMPILES | _WARM | _INTERRUPTED,
    ),
)
