"""Exercises of benchmarks: three benchmark scripts, each to be written without its flaw.

An answer runs on new toy cards. To find the trap that it fell into, the checker runs it again on
cards without some of their traps.
"""

import random
from dataclasses import replace

import torch

from gemlite_lab.checker.compare import is_close
from gemlite_lab.checker.exercise import FLOAT32_ROUNDING, CheckFailed, Exercise, number
from gemlite_lab.checker.script_cases import (
    ANY_SIZE,
    HARDLY_INTERRUPTED,
    INTERRUPTIONS,
    LARGE_L2,
    LARGER_THAN_L2,
    LARGEST,
    NEARLY_THE_L2,
    OF_MANY_COPIES,
    SMALL,
    SMALL_ON_A_SLOW_CARD,
    on_a_slower_card,
    on_another_card,
    on_cards,
)
from gemlite_lab.sandbox.toy_cards import (
    has_launched,
    has_read_the_clock,
    measure,
    shows_the_same,
    timed_launches,
)

# A toy card has no noise. The tolerance is half the time that one untimed launch adds when 1000
# timed ones wait for it.
_TOLERANCE = 0.0005
_REPEATED = 2  # cards whose calls the checker repeats
_MANY_CARDS = 12  # of a case: then some more cards interrupt launches that the answer has timed
_FURTHER_CARDS = 10
_DRAWN = 5  # of so many of the first cases, in which an interruption stands out, one is drawn
_OTHER_CARDS = on_another_card, on_a_slower_card


def _expected(case):
    right = number(case.computed_us * case.slowness)
    return right, right * _TOLERANCE


def _run(name, answer, case):
    """The answer's number: the first wrong one of the cards, if there is one.

    Raises CheckFailed if the answer measured nothing on its card, because it computed the number or
    measured on a copy, and if it changed the card otherwise than by its methods.
    """
    right, bound = _expected(case)
    runs = _runs(answer, case, case.interruptions)
    if len(case.interruptions) >= _MANY_CARDS:
        runs += _runs(answer, case, _further_interruptions(case, runs[0][1][1]))
    for launch, (_, calls) in random.sample(runs, min(len(runs), _REPEATED)):
        if not shows_the_same(case.new_card(launch), calls):
            raise CheckFailed(f"{name} changed its card's clock: only call the card's methods")
    for _, (result, calls) in runs:
        value = number(result)
        if value is not None:
            _check_measured(name, case, value, calls)
        if value is None or not is_close(value, right, bound):
            break
    return value


def _runs(answer, case, interruptions):
    """[(the launch that is interrupted first, (the answer's result, its card's calls))]."""
    cards = case.settings, case.slowness, case.is_patient, interruptions
    return list(zip(interruptions, answer.run(measure, *cards, case.nbytes), strict=False))


def _further_interruptions(case, calls):
    """Some of the launches that the answer timed, and that no card of the case interrupts."""
    timed = set(timed_launches(calls)) - set(case.interruptions)
    return random.sample(sorted(timed), min(len(timed), _FURTHER_CARDS))


def _check_measured(name, case, value, calls):
    """Raise CheckFailed for a number that no clock of the answer's card has shown."""
    if not has_launched(calls):
        raise CheckFailed(f"{name} launched nothing on the card that it was given: measure there")
    if not has_read_the_clock(calls):
        raise CheckFailed(f"{name} never read its card's clock: measure the time with card.clock()")
    computed = number(case.computed_us)
    if case.slowness != 1 and is_close(value, computed, computed * _TOLERANCE):
        raise CheckFailed(
            f"{name} computed its time and did not measure it: on a card that works "
            f"{case.slowness:.3g} times as long as its settings say, it returned what they say, or "
            "what it had measured on an earlier card"
        )


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
        lesson="benchmarks",
        output="microseconds",
        dtype=torch.float64,
        is_kernel=False,
        hints=hints,
        cases=cases,
        fresh=lambda seed: [make(cases()[:_DRAWN], seed) for make in _OTHER_CARDS],
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
        cases=lambda: on_cards(LARGER_THAN_L2),
        traps=_STILL_BUSY | _ASYNCHRONOUS | _COMPILES,
    ),
    _script(
        "script_2",
        hints=(
            "Where do the weights come from in the first launch, and where in the second?",
            "Add up the bytes of all that you launch in turn, and compare with card.l2_bytes.",
            "Launch copies in turn, so many that together they exceed the L2: what was read "
            "longest ago leaves it first. The untimed launch reads a copy too: let that one come "
            "last in the turn.",
        ),
        cases=lambda: on_cards(
            (*ANY_SIZE, OF_MANY_COPIES, SMALL, *NEARLY_THE_L2, SMALL_ON_A_SLOW_CARD, LARGE_L2)
        ),
        traps=_STILL_BUSY | _ASYNCHRONOUS | _COMPILES | _WARM,
    ),
    _script(
        "script_3",
        hints=(
            "Print the fifty times. Which differ from the others, and what happened there?",
            "A single time of 1000 among fifty moves their mean by 20. Which summary of fifty "
            "numbers does it leave where it was?",
            "Many short runs and their median. A run of hundreds of launches hardly ever escapes "
            "an interruption, and a round over the copies of small weights has hundreds.",
        ),
        cases=lambda: [
            *on_cards(ANY_SIZE[:1], 5000.0, INTERRUPTIONS),
            *on_cards(ANY_SIZE[1:], 5000.0, INTERRUPTIONS[::3]),
            *on_cards((OF_MANY_COPIES, SMALL), 5000.0, (1, 100)),
            *on_cards((LARGEST,), 50_000.0, (1, 100)),
            *on_cards((*NEARLY_THE_L2, LARGE_L2), 5000.0, (1,)),
            *(on_cards((size,), longer, when)[0] for size, longer, when in HARDLY_INTERRUPTED),
        ],
        traps=_STILL_BUSY | _ASYNCHRONOUS | _COMPILES | _WARM | _INTERRUPTED,
    ),
)
