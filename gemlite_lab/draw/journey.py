"""A picture of eight weights on their way through a word of memory into a sum."""

from gemlite_edu.packing import WarpInterleaved
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.draw.canvas import (
    GLOBAL,
    INK,
    LANE,
    NEIGHBOURS,
    SUM,
    box,
    canvas,
    display_png,
    write,
)

_NBITS = 4
_WIDE, _HIGH = 1.2, 1.7  # a column and a row, with their gaps


def journey(weight, quantized, W_packed, x):
    """Row 0 of W as far as word 0 holds it: its weights, their codes, the word, and the products.

    weight: W (N, K). quantized: its `QuantizedWeight`, 4 bits, one scale for each row. W_packed:
    its words. x: the K numbers that the row meets. Raises ValueError for other bits or groups.
    """
    if quantized.nbits != _NBITS or quantized.scales.shape[1] > 1:
        raise ValueError(
            f"quantized must have {_NBITS} bits and one scale for each row, "
            f"got {quantized.nbits} bits and {quantized.scales.shape[1]} scales a row"
        )
    layout = WarpInterleaved(_NBITS)
    ks = [WARP_SIZE * j for j in range(layout.pack_factor)]
    word = W_packed[0, 0].item() & 0xFFFFFFFF
    codes = [word >> layout.locate(0, k).shift & 2**_NBITS - 1 for k in ks]
    scale, zero = quantized.scales.flatten()[0].item(), quantized.zeros.flatten()[0].item()
    numbers = [(code - zero) * scale for code in codes]
    products = [number * value for number, value in zip(numbers, x[ks].tolist(), strict=True)]
    rows = {
        "weights": [f"{number:.3f}" for number in weight[0, ks].tolist()],
        "codes": [f"{code}" for code in quantized.W_q[0, ks].tolist()],
        "a word": [f"{code:0{_NBITS}b}" for code in codes],
        "codes again": [f"{code}" for code in codes],
        "numbers again": [f"{number:.3f}" for number in numbers],
        "products with x": [f"{product:.3f}" for product in products],
    }
    total = f"the sum so far: {sum(products):.3f}"
    _print_rows(ks, rows)
    print(f"word 0 is 0x{word:08x}, zero {zero:g}, scale {scale:.4f}; {total}")
    _draw(ks, rows, total)


def _print_rows(ks, rows):
    for name, cells in {"k": ks, **rows}.items():
        print(f"{name:15}" + "".join(f"{cell:>8}" for cell in cells))


# {row: its colour, and how it comes from the row above}
_LOOKS = {
    "weights": (NEIGHBOURS[0], ""),
    "codes": (NEIGHBOURS[1], "quantize"),
    "a word": (GLOBAL, "pack: 32 bits in memory"),
    "codes again": (LANE, "a thread loads, shifts, masks"),
    "numbers again": (LANE, "minus zero, times scale"),
    "products with x": (LANE, "times x"),
}


def _draw(ks, rows, total):
    width = _WIDE * len(ks)
    figure, axes = canvas(10, 4.3)
    for column, k in enumerate(ks):
        write(axes, _WIDE * (column + 0.5), -0.4, f"k = {k}", ha="center", fontsize=8)
    for row, (name, cells) in enumerate(rows.items()):
        color, way = _LOOKS[name]
        for column, cell in enumerate(cells):
            start = _place(row - 1, column, len(ks)), (row - 1) * _HIGH + 1
            end = _place(row, column, len(ks)), row * _HIGH
            if row:
                _arrow(axes, start, end)
            box(axes, end[0] - 0.5, end[1], 1, color, cell, fontsize=9)
        write(axes, -0.2, row * _HIGH + 0.5, name, ha="right", fontsize=9)
        write(axes, width + 0.2, row * _HIGH - (_HIGH - 1) / 2, way, fontsize=9)
    bottom = len(rows) * _HIGH
    for column in range(len(ks)):
        start = _place(len(rows) - 1, column, len(ks)), bottom - _HIGH + 1
        _arrow(axes, start, (width / 2, bottom))
    box(axes, width / 2 - 2, bottom, 4, SUM, total, fontsize=9)
    axes.set(xlim=(-1.9, width + 3.4), ylim=(bottom + 1.1, -0.9))
    axes.axis("off")
    display_png(
        figure,
        f"{len(ks)} weights become codes, lie in one word of memory, become numbers again in a "
        "thread, and are multiplied and added",
    )


def _place(row, column, columns):
    """The middle of a box; those of the word, row 2, lie without gaps."""
    gap = 0 if row == 2 else _WIDE - 1
    return _WIDE * columns / 2 + (1 + gap) * (column - (columns - 1) / 2)


def _arrow(axes, start, end):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": INK})
