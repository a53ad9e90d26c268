"""What the learner's guesses say of the learner: how far off they are, and how sure."""

import math

from gemlite_lab.lesson.guess import percent
from gemlite_lab.lesson.kept_guesses import kept_guesses

_ENOUGH = 5  # ranges; fewer may be right or wrong by chance


def guesses():
    """Print and draw all your guesses: how far off each was, and how often you were rightly sure.

    Of each prediction your first guess counts, because afterwards you know the answer.
    """
    every = kept_guesses()
    made = [kept for kept in every if kept.guess]
    if not made:
        print(
            'There is no guess yet. In a cell with predict("...", None) write a number in place of '
            "None, or a range such as (3, 5), and run it and the cell that reveals the answer."
        )
        return
    _print_table(made)
    factors = sorted(_factor(kept) for kept in made)
    half = factors[(len(factors) - 1) // 2]
    print(f"Half of your guesses are {_within(half)}.{_passed(len(every) - len(made))}")
    said = [(kept.guess.sure, kept.guess.holds(kept.measured)) for kept in made if kept.guess.sure]
    print(_advice(said))

    from gemlite_lab.draw.guesses import draw_guesses

    draw_guesses([_off(kept) for kept in made], said)


def _print_table(made):
    width = max(len(kept.what) for kept in made)
    print(f"    {'':{width}} {'your guess':>16} {'it is':>10}")
    for number, kept in enumerate(made, 1):
        sure = f", {percent(kept.guess.sure)} sure" if kept.guess.sure else ""
        print(
            f"{number:3} {kept.what:{width}} {kept.guess!s:>16} {kept.measured:>10g}  "
            f"{_words(kept)}{sure}"
        )


def _off(kept):
    """(low, middle, high) of the guess, each as a multiple of the answer; see `multiple`."""
    ends = kept.guess.low, kept.guess.middle(), kept.guess.high
    return tuple(sorted(multiple(end, kept.measured) for end in ends))


def multiple(guess, measured):
    """guess / measured; 0 or infinity where no factor leads from one to the other.

    >>> multiple(8, 4), multiple(0, 0), multiple(0, 4), multiple(5, 0), multiple(-3, 4)
    (2.0, 1.0, 0.0, inf, 0.0)
    """
    if guess == measured:
        return 1.0
    if guess * measured > 0:
        return guess / measured
    return math.inf if guess > measured else 0.0


def _factor(kept):
    times = multiple(kept.guess.middle(), kept.measured)
    return max(times, 1 / times) if times else math.inf


def _words(kept):
    times = multiple(kept.guess.middle(), kept.measured)
    if kept.guess.holds(kept.measured):
        return "right"
    if times in (0, math.inf):
        return "too high" if times else "too low"
    factor, where = _factor(kept), "high" if times > 1 else "low"
    return f"{factor:.3g} times too {where}"


def _within(factor):
    if factor == 1:
        return "right"
    return "off by any factor" if factor == math.inf else f"off by a factor of {factor:.3g} at most"


def _passed(times):
    return f" You passed {times} more." if times else ""


def _advice(said):
    """One sentence on (sure, was right) of each guess of which the learner said how sure."""
    if not said:
        return (
            'How sure may you be? Write a range next time: predict("...", (3, 5), sure=0.8) says '
            "that you are 80 % sure that the answer is from 3 to 5."
        )
    right = sum(was_right for _, was_right in said)
    expected = sum(sure for sure, _ in said)
    counted = (
        f"Of {len(said)} guesses you expected {expected:.1f} to be right, and {right} turned out so"
    )
    if len(said) < _ENOUGH:
        return f"{counted}: from {_ENOUGH} guesses on, that tells something."
    by_chance = math.sqrt(sum(sure * (1 - sure) for sure, _ in said))
    if right < expected - by_chance:
        return f"{counted}: you are surer than you should be, so widen your ranges."
    if right > expected + by_chance:
        return f"{counted}: you know more than you think, so narrow your ranges."
    return f"{counted}: you are as sure as you should be."
