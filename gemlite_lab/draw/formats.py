"""Pictures of packed words."""

from gemlite_edu.packing import WarpInterleaved
from gemlite_lab.draw.canvas import COLORS, PALE, box, canvas, display_png, rectangle


def word(nbits, col=0):
    """One 32-bit word of row 0 of the warp-interleaved layout, with the k of each field."""
    layout = WarpInterleaved(nbits)
    fields = sorted(
        (layout.locate(0, k).shift, k)
        for k in range(layout.tile * (col // 32), layout.tile * (col // 32 + 1))
        if layout.locate(0, k).col == col
    )[::-1]
    print(f"word {col}, {nbits}-bit: {len(fields)} codes, {layout.idle_bits} idle bits")
    print("bits  " + " ".join(f"{f'{s + nbits - 1}-{s}':>6}" for s, _ in fields))
    print("k     " + " ".join(f"{k:>6}" for _, k in fields))

    figure, axes = canvas(10, 1.5)
    for i, (shift, k) in enumerate(fields):
        box(axes, 32 - shift - nbits, 0, nbits, PALE[i % 2], f"k={k}" if nbits > 2 else f"{k}")
    if layout.idle_bits:
        box(axes, 32 - layout.idle_bits, 0, layout.idle_bits, "#DDDDDD", "idle")
    axes.set(xlim=(0, 32), ylim=(0, 1), yticks=[], title=f"word {col}: bit 31 left, bit 0 right")
    axes.set_xticks(range(0, 33, 4), [str(32 - bit) for bit in range(0, 33, 4)])
    display_png(figure, f"The {len(fields)} fields of word {col}, most significant first")


def warp_words(nbits, rows=2, words=6):
    """The codes W_q[n, k] that the first `words` words of each row hold, in the (n, k) plane."""
    if not 1 <= words <= len(COLORS):
        raise ValueError(f"words must be from 1 to {len(COLORS)}, got {words}")
    layout = WarpInterleaved(nbits)
    figure, axes = canvas(10, 0.9 + 0.45 * rows)
    for n in range(rows):
        for k in range(layout.tile):
            col = layout.locate(n, k).col
            color = COLORS[col] if col < words else "#EEEEEE"
            axes.add_patch(rectangle(k, n, 1, 1, color, edge=color))
    for col in range(words):
        held = [k for k in range(layout.tile) if layout.locate(0, k).col == col]
        print(f"word {col} of a row: k = {', '.join(map(str, held))}")
    axes.set(xlim=(0, layout.tile), ylim=(rows, 0), xlabel="k", ylabel="n")
    axes.set_yticks([n + 0.5 for n in range(rows)], range(rows))
    axes.set_xticks(range(0, layout.tile + 1, 32))
    axes.set_title(f"{nbits}-bit: where the codes of words 0 to {words - 1} come from")
    display_png(figure, f"Words 0 to {words - 1} take every 32nd code of a row")
