"""A picture of a choice by the number of rows of x: the kernel that computes each number."""

from gemlite_lab.draw.canvas import NEIGHBOURS, canvas, display_png, rectangle, write

_TICKS = [2**power for power in range(13)]
_HEIGHT = 0.5  # of a bar, with the name of its kind above it


def rows(choices):
    """For each kind of `choices` a bar over M, cut into the ranges of M that each name takes.

    choices: {kind: ((limit, name), ...)}, as from `choose.limits`. A name takes each M above the
    limit before it, up to and including its own; limits ascend, and the last one is None.
    Raises ValueError for other limits.
    """
    bars = {kind: _stretches(limits) for kind, limits in choices.items()}
    for kind, stretches in bars.items():
        print(f"{kind}: " + ", ".join(f"{_range(*ends)} {name}" for *ends, name in stretches))
    names = list(dict.fromkeys(name for of in bars.values() for *_, name in of))
    figure, axes = canvas(10, 0.9 + 0.62 * len(bars))
    for row, (kind, stretches) in enumerate(bars.items()):
        write(axes, _edge(0), row - 0.08, kind, va="bottom")
        for first, last, name in stretches:
            color = NEIGHBOURS[names.index(name) % len(NEIGHBOURS)]
            _draw_bar(axes, row, _edge(first - 1), _edge(last or _TICKS[-1]), color, name)
    axes.set(xscale="log", xlabel="M, rows of x")
    axes.set(xlim=(_edge(0), _edge(_TICKS[-1])), ylim=(len(bars) - 0.3, -0.5))
    axes.set_xticks(_TICKS, _TICKS)
    axes.set_xticks([], minor=True)
    axes.set_yticks([])
    axes.spines[["left", "right", "top"]].set_visible(False)
    display_png(figure, f"Bars over M: which of {', '.join(names)} computes how many rows of x")


def _draw_bar(axes, row, left, right, color, name):
    axes.add_patch(rectangle(left, row, right - left, _HEIGHT, color))
    middle = (left * right) ** 0.5
    axes.text(middle, row + _HEIGHT / 2, name, ha="center", va="center", fontsize=9)


def _edge(M):
    """The place on the axis where M ends and M + 1 begins: half way between the two."""
    return (M * (M + 1)) ** 0.5 or 0.5**0.5


def _stretches(limits):
    """[(first M, last M or None, name)]"""
    last = [limit for limit, _ in limits]
    first = [1, *(limit + 1 for limit in last[:-1] if limit is not None)]
    if last[-1] is not None or len(first) != len(last) or first != sorted(set(first)):
        raise ValueError(f"limits must ascend and end with None, got {last}")
    return [(a, b, name) for a, b, (_, name) in zip(first, last, limits, strict=True)]


def _range(first, last):
    if last is None:
        return f"from {first} on"
    return f"{first}" if first == last else f"{first} to {last}"
