"""The picture of a learner's guesses: how far off each was, and how sure the learner may be."""

from itertools import groupby

from gemlite_lab.draw.canvas import MARK, SERIES, display_svg

_RIGHT, _WRONG = SERIES[4], MARK
_FARTHEST = 100  # times too high or low; what is farther lies on the edge
_TICKS = (2, 5, 10, 30, 100)


def draw_guesses(multiples, said):
    """multiples: (low, middle, high) of each guess as multiples of its answer, oldest first.

    said: (how sure, was right) of the guesses of which the learner said how sure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    far, sure = figure.subplots(1, 2, width_ratios=[1.8, 1])
    for axes in (far, sure):
        axes.spines[["top", "right"]].set_visible(False)
    _draw_far(far, multiples)
    _draw_sure(sure, said)
    display_svg(figure, _in_words(multiples, said))


def _in_words(multiples, said):
    close = sum(1 / 2 <= middle <= 2 for _, middle, _ in multiples)
    points = [f"{right} of {n} at {100 * sure:.0f} %" for sure, right, n in by_sureness(said)]
    return (
        f"{close} of {len(multiples)} guesses are within a factor of 2; "
        f"right where the learner was sure: {', '.join(points) or 'never said'}"
    )


def _draw_far(axes, multiples):
    bottom = 1 / _edge(1 / low if low else _FARTHEST for low, _, _ in multiples)
    top = _edge(high for _, _, high in multiples)

    def inside(times):
        return min(max(times, bottom), top)

    axes.axhspan(1 / 2, 2, color=_RIGHT, alpha=0.18, linewidth=0)
    axes.axhline(1, color="black", linewidth=1)
    for number, (low, middle, high) in enumerate(multiples, 1):
        color = _RIGHT if low <= 1 <= high else _WRONG
        marker = "^" if middle > top else "v" if middle < bottom else "o"
        axes.plot([number] * 2, [inside(low), inside(high)], color=color, linewidth=4, alpha=0.6)
        axes.plot(number, inside(middle), marker, color=color, markersize=8, clip_on=False)
    margin = 0.5 + len(multiples) / 60
    axes.set(yscale="log", ylim=(bottom, top), xlim=(1 - margin, max(len(multiples), 7) + margin))
    names = {1 / n: f"{n} times too low" for n in _TICKS} | {1: "right"}
    names |= {n: f"{n} times too high" for n in _TICKS}
    shown = [times for times in names if bottom <= times <= top]
    axes.set_yticks(shown, [names[times] for times in shown])
    axes.minorticks_off()
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(
        xlabel="your guesses, in order; blue: the answer is in the range", title="How far off?"
    )


def _edge(factors):
    return 1.3 * min(max(2.5, *factors), _FARTHEST)


def by_sureness(said):
    """(mean sureness, how many were right, how many) for each ten percent of sureness.

    >>> by_sureness([(0.5, True), (0.52, False), (0.9, True)])
    [(0.51, 1, 2), (0.9, 1, 1)]
    """
    groups = groupby(sorted(said), key=lambda one: round(10 * one[0]))
    every = [list(group) for _, group in groups]
    return [
        (sum(sure for sure, _ in group) / len(group), sum(right for _, right in group), len(group))
        for group in every
    ]


def _draw_sure(axes, said):
    axes.plot([0, 100], [0, 100], "--", color="black", linewidth=1)
    axes.text(22, 60, "you may\nbe surer", ha="center", va="center", fontsize=9)
    axes.text(36, 12, "too sure", ha="center", va="center", fontsize=9)
    for sure, right, count in by_sureness(said):
        place = 100 * sure, 100 * right / count
        size = 7 + min(count, 10)
        axes.plot(*place, "o", color=_RIGHT, markersize=size, clip_on=False)
        above = (0, size / 2 + 6) if place[1] < 90 else (0, -size / 2 - 6)
        label = f"{right}/{count}"
        axes.annotate(
            label, place, above, textcoords="offset points", ha="center", va="center", fontsize=9
        )
    if not said:
        empty = 'predict("...", (3, 5), sure=0.8)\nputs a point here'
        axes.text(96, 88, empty, ha="right", va="center", fontsize=9)
    axes.set(xlim=(0, 102), ylim=(0, 102), xlabel="how sure you were, percent")
    axes.set(ylabel="how often you were right, percent", title="How sure may you be?")
