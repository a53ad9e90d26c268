"""A picture of a few weights on the ruler that quantizes them."""

from gemlite_edu.numbers.quantize import quantize_linear
from gemlite_lab.draw.canvas import INK, NEIGHBOURS, box, canvas, display_png, frame, write

_MOST_WEIGHTS, _MOST_BITS = 12, 4
_DOTS_AT = -1.1  # above the ruler, whose top is at 0


def ruler(weights, nbits=4):
    """The marks of the ruler over `weights`, its codes, and the way of each weight to its mark.

    weights: 1-D, at most 12. A box has the number of its mark, and reaches half a gap to each side
    of it: it holds the weights that get this code. The box of the zero is framed.
    Raises ValueError for other weights, or for more than 4 bits.
    """
    if weights.dim() != 1 or not 1 <= len(weights) <= _MOST_WEIGHTS or nbits > _MOST_BITS:
        raise ValueError(
            f"weights must be one to {_MOST_WEIGHTS} numbers in a row and nbits at most "
            f"{_MOST_BITS}, got {tuple(weights.shape)} and {nbits}"
        )
    quantized = quantize_linear(weights[None], nbits)
    scale, zero = quantized.scales.item(), quantized.zeros.item()
    pairs = sorted(zip(weights.tolist(), quantized.W_q[0].tolist(), strict=True))
    print(f"{2**nbits} marks, gaps of {scale:.4f}; mark {zero:.0f} stands for 0")
    for weight, code in pairs:
        off = code - (weight / scale + zero)
        print(f"weight {weight:7.4f} gets code {code:>2}, an error of {off:5.2f} gaps")
    _draw(pairs, scale, zero, nbits)


def _draw(pairs, scale, zero, nbits):
    """All places are in gaps, so that code c has its mark at c."""
    marks = range(2**nbits)
    figure, axes = canvas(10, 2.4)
    for code in marks:
        box(axes, code - 0.5, 0, 1, NEIGHBOURS[code % 2], str(code), fontsize=10)
        axes.plot([code, code], [0, 0.2], color="black", linewidth=1.2)
    frame(axes, zero - 0.5, 0, 1, 1)
    for weight, code in pairs:
        place = weight / scale + zero
        axes.plot([place, code], [_DOTS_AT, 0], color=INK, linewidth=1)
        axes.plot(place, _DOTS_AT, "o", color=INK, markersize=7)
        write(axes, place, _DOTS_AT - 0.5, f"{weight:.3f}", ha="center", fontsize=8)
    last = marks[-1]
    style = {"arrowstyle": "<->", "color": INK, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (last - 1, 1.5), (last, 1.5), arrowprops=style)
    write(axes, last - 0.5, 1.9, "a gap: the scale", ha="center", fontsize=9)
    write(axes, zero, 1.4, "the zero: weight 0", ha="center", fontsize=9)
    axes.set(xlim=(-0.6, last + 0.6), ylim=(2.2, _DOTS_AT - 0.9))
    axes.set_yticks([_DOTS_AT, 0.5], ["weights", "codes"])
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    display_png(
        figure,
        f"{len(pairs)} weights above a ruler with {2**nbits} marks; lines lead to the nearest ones",
    )
