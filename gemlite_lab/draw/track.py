"""All steps of a player side by side: phases, functions, what is done, copies on their way."""

from html import escape
from itertools import groupby

from gemlite_lab.draw.canvas import COPY, INK, MARK, on

WIDTH = 1024
_ROW = 16
_GAP = 2
_LETTER = 5.7  # width of one


def track(steps, letters, fills):
    """SVG of a row for phases, for functions and for steps, and one for each batch of copies.

    steps: recorded ones; letters: what the lanes do in each, of frames.KINDS; fills: {letter:
    colour}. An element of class "cursor" stands at the first step; `cursor_step` is its stride.
    """
    rows = [
        *([_phases(steps)] if any(step.op == "barrier" for step in steps) else []),
        *([_functions(steps)] if any(map(part_of(steps), steps)) else []),
        [(i, 1, fills.get(letter, INK), "") for i, letter in enumerate(letters)],
        *_batches(steps),
    ]
    height = _ROW * len(rows)
    shapes = [
        _bar(row * _ROW, at * stride(steps), count * stride(steps), color, label)
        for row, bars in enumerate(rows)
        for at, count, color, label in bars
    ]
    cursor = (
        f'<rect class="cursor" x="0" y="1" width="{max(stride(steps), 3):.5g}" '
        f'height="{height - 2}" fill="none" stroke="{MARK}" stroke-width="2"/>'
    )
    return (
        f'<svg aria-hidden="true" viewBox="0 0 {WIDTH} {height}" width="100%" font-size="10.5" '
        f'text-anchor="middle" fill="currentColor">{"".join(shapes)}{cursor}</svg>'
    )


def stride(steps):
    """The width of a step."""
    return WIDTH / len(steps)


def part_of(steps):
    """A function of a step that gives the outermost function in which not all steps are, or ""."""
    chains = [[name for name, _ in reversed(step.calls)] for step in steps]
    shared = 0
    while all(len(chain) > shared for chain in chains):
        if len({chain[shared] for chain in chains}) > 1:
            break
        shared += 1
    return lambda step: "".join([name for name, _ in reversed(step.calls)][shared : shared + 1])


def _phases(steps):
    return [
        (at, count, None, f"phase {phase + 1}")
        for phase, at, count in _runs([step.phase for step in steps])
    ]


def _functions(steps):
    part = part_of(steps)
    return [
        (at, count, None, name) for name, at, count in _runs([part(step) for step in steps]) if name
    ]


def _batches(steps):
    """For each batch the steps at which copies of it are on their way."""
    for batch in sorted({batch for step in steps for batch in step.copies}):
        on_the_way = [batch in step.copies for step in steps]
        yield [
            (at, count, COPY, f"batch {batch} on its way")
            for is_it, at, count in _runs(on_the_way)
            if is_it
        ]


def _runs(values):
    """(value, place of the first, count) for each run of equal values."""
    at = 0
    for value, own in groupby(values):
        count = len(list(own))
        yield value, at, count
        at += count


def _bar(y, x, width, color, label):
    style = f'fill="{color}"' if color else 'fill="none" stroke="currentColor" stroke-opacity="0.5"'
    bar = (
        f'<rect x="{x:.5g}" y="{y + _GAP / 2}" width="{width:.5g}" height="{_ROW - _GAP}" {style}/>'
    )
    if not label or len(label) * _LETTER > width:
        return bar
    ink = f' fill="{on(color)}"' if color else ""
    return f'{bar}<text x="{x + width / 2:.5g}" y="{y + 12}"{ink}>{escape(label)}</text>'
