"""Pictures of packed words."""

from gemlite_edu.packing import WarpInterleaved
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.draw.canvas import IDLE, NEIGHBOURS, box, canvas, display_png, frame


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
        box(
            axes, 32 - shift - nbits, 0, nbits, NEIGHBOURS[i % 2], f"k={k}" if nbits > 2 else f"{k}"
        )
    if layout.idle_bits:
        box(axes, 32 - layout.idle_bits, 0, layout.idle_bits, IDLE, "idle")
    axes.set(xlim=(0, 32), ylim=(0, 1), yticks=[], title=f"word {col}: bit 31 left, bit 0 right")
    axes.set_xticks(range(0, 33, 4), [str(32 - bit) for bit in range(0, 33, 4)])
    display_png(figure, f"The {len(fields)} fields of word {col}, most significant first")


def warp_words(nbits, word=5):
    """The k of each code in the first 32 words of a row: a column is a word, a row is a field.

    word: the word whose codes are framed. Raises ValueError for a word that is not among the 32.
    """
    if word not in range(WARP_SIZE):
        raise ValueError(f"word must be from 0 to {WARP_SIZE - 1}, got {word}")
    layout = WarpInterleaved(nbits)
    held = {}  # {shift: {word: k}}
    for k in range(layout.tile):
        address = layout.locate(0, k)
        held.setdefault(address.shift, {})[address.col] = k
    fields = {f"bits {shift + nbits - 1}-{shift}": held[shift] for shift in sorted(held)[::-1]}
    print(f"words 0 to {WARP_SIZE - 1} of a row, {nbits}-bit")
    for name, ks in fields.items():
        print(f"{name:>10}: k = {ks[0]} to {ks[WARP_SIZE - 1]}")
    print(f"word {word}: k = {', '.join(str(ks[word]) for ks in fields.values())}")

    figure, axes = canvas(10, 0.9 + 0.24 * len(fields))
    for row, ks in enumerate(fields.values()):
        for col, k in ks.items():
            box(axes, col, row, 1, NEIGHBOURS[row % 2], str(k), fontsize=7)
    frame(axes, word, 0, 1, len(fields))
    axes.set(xlim=(0, WARP_SIZE), ylim=(len(fields), 0), xlabel="word")
    axes.set_title(f"{nbits}-bit: the k of each code in the 32 words of a tile")
    axes.set_xticks([at + 0.5 for at in range(WARP_SIZE)], range(WARP_SIZE), fontsize=8)
    axes.set_yticks([row + 0.5 for row in range(len(fields))], fields)
    axes.tick_params(length=0)
    display_png(
        figure, f"{len(fields)} rows of 32 neighbouring k, one for each field; word {word} framed"
    )
