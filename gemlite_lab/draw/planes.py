"""A picture of codes cut into bit planes."""

from gemlite_edu.packing import BitPlanes3
from gemlite_lab.draw.canvas import NEIGHBOURS, canvas, display_png, frame, rectangle

_LANES = 32
_WORD_BITS = 32
_NAMES = ("low 2 bits", "high bit")


def planes(lane=0, code=3):
    """The three words that hold one lane's codes in `BitPlanes3`, and one code's place in them.

    Every piece of a code shows the k of the code. Frames mark both pieces of the lane's code number
    `code`.
    """
    layout = BitPlanes3()
    if not 0 <= lane < _LANES or not 0 <= code < layout.tile // _LANES:
        raise ValueError(f"lane and code must be from 0 to 31, got {lane} and {code}")
    words = _words_of(layout, lane)
    codes = layout.tile // _LANES
    idle = _WORD_BITS * len(words) - layout.nbits * codes
    print(f"lane {lane}, 3-bit planes: {len(words)} words, {codes} codes, {idle} idle bits")
    for col, pieces in words.items():
        plane = _NAMES[pieces[0][1]]
        ks = [k for k, *_ in pieces]
        print(f"word {col:>2}: {plane} of k = {ks[0]}, {ks[1]}, {ks[2]}, ..., {ks[-1]}")
    k = lane + _LANES * code
    low, high = layout.locate(0, k)
    print(
        f"code {code}, k = {k}: low 2 bits in word {low.col}, bits {low.shift + 1}-{low.shift}; "
        f"high bit in word {high.col}, bit {high.shift}"
    )
    _draw(words, layout.planes, k)


def _words_of(layout, lane):
    """{word of a row: [(k, plane, shift)]}, first code first."""
    words = {}
    for k in range(lane, layout.tile, _LANES):
        for plane, piece in enumerate(layout.locate(0, k)):
            words.setdefault(piece.col, []).append((k, plane, piece.shift))
    return dict(sorted(words.items()))


def _draw(words, bits_in, marked):
    figure, axes = canvas(10, 2.4)
    for row, pieces in enumerate(words.values()):
        for i, (k, plane, shift) in enumerate(pieces):
            bits = bits_in[plane]
            left = _WORD_BITS - shift - bits
            axes.add_patch(rectangle(left, row + 0.1, bits, 0.8, NEIGHBOURS[i % 2]))
            axes.text(left + bits / 2, row + 0.5, k, ha="center", va="center", fontsize=7)
            if k == marked:
                frame(axes, left, row + 0.1, bits, 0.8)
    axes.set(xlim=(0, _WORD_BITS), ylim=(len(words), 0))
    axes.set_title(f"the k of each piece; framed: k = {marked}, in two words")
    names = [f"word {col}\n{_NAMES[pieces[0][1]]}" for col, pieces in words.items()]
    axes.set_yticks([row + 0.5 for row in range(len(words))], names)
    axes.set_xticks(range(0, 33, 4), [str(32 - bit) for bit in range(0, 33, 4)])
    axes.tick_params(axis="y", length=0)
    display_png(figure, f"Three words of 32 bits; k = {marked} has two bits in one, one in another")
