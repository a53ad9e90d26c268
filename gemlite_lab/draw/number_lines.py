"""Pictures of the numbers that a format can represent."""

import torch

from gemlite_lab.draw.canvas import SERIES, display_png, stacked

_PART = 16  # the second picture shows the numbers below a 16th of the largest


def number_lines(formats, values, name):
    """The numbers of each format on a line that ends at its largest, and `values` above them.

    formats: {label: 1-D tensor of its finite numbers}. values: a 1-D tensor, drawn as fractions of
    its largest size. name: the name of the values. Below, the lines from 0 to a 16th of the end,
    if a format has numbers there. It prints how far the two numbers nearest to 0 are apart, and
    the two largest, as parts of the end, and with the lower lines how many numbers each shows.
    Raises ValueError for no formats, or values all 0.
    """
    if not formats:
        raise ValueError("formats must name at least one format, got none")
    lines = {name: _as_part(values, name)}
    lines |= {label: _as_part(numbers, label).unique() for label, numbers in formats.items()}
    inner = {
        label: ((line > 0) & (line <= 1 / _PART)).sum().item() for label, line in lines.items()
    }
    has_inner = any(inner[label] for label in formats)
    for label in formats:
        line = lines[label]
        one, other = line[line.abs().argsort()[:2]]
        print(
            f"{label:>5}: {len(line)} numbers; the two nearest to 0 are "
            f"{(one - other).abs():.2g} apart, the two largest {line[-1] - line[-2]:.2g}"
            + (f"; {inner[label]} between 0 and 1/{_PART}" if has_inner else "")
        )
    small = (lines[name].abs() <= 1 / _PART).sum()
    print(f"{name}: {small} of {len(lines[name])} are within 1/{_PART} of the largest")

    ends = {(-1, 1): "as part of the largest"}
    if has_inner:
        ends[0, 1 / _PART] = f"from 0 to 1/{_PART} of the largest"
    figure = stacked(10, 0.6 * len(ends) + 0.45 * len(ends) * len(lines), [1] * len(ends))
    for axes, (span, title) in zip(figure.axes, ends.items(), strict=True):
        _draw(axes, lines, span, title)
    display_png(figure, f"The numbers of {', '.join(formats)}, and {name}, from end to end")


def _as_part(numbers, label):
    numbers = numbers.detach().double().flatten()
    largest = numbers.abs().max() if len(numbers) else torch.tensor(0.0)
    if not 0 < largest < torch.inf:
        raise ValueError(f"{label} must have finite numbers that are not all 0")
    return numbers / largest


def _draw(axes, lines, ends, title):
    for row, line in enumerate(lines.values()):
        shown = line[(line >= ends[0]) & (line <= ends[1])]
        axes.vlines(
            shown.numpy(), row - 0.36, row + 0.36, color=SERIES[row % len(SERIES)], linewidth=0.8
        )
    margin = (ends[1] - ends[0]) / 100
    axes.set(xlim=(ends[0] - margin, ends[1] + margin), ylim=(len(lines) - 0.5, -0.5), title=title)
    axes.set_yticks(range(len(lines)), lines)
    axes.tick_params(axis="y", length=0)
