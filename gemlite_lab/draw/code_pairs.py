"""A picture of 4-bit codes on their way from two words to two halves of fp16."""

import torch

from gemlite_lab.draw.canvas import IDLE, NEIGHBOURS, OTHERS, box, canvas, display_png, frame, write

_NBITS, _WORD_BITS, _HALF_BITS = 4, 32, 16
_FIELDS = _HALF_BITS // _NBITS
_EXPONENT = NEIGHBOURS[3]
_COLORS = NEIGHBOURS[:2]  # of the word of k, and of the word of k + 1
_ROW = 1.55


def code_pairs(word, next_word, f):
    """Codes f of the lower halves of two words, as `dequant_pair` of gemv_a16wn_fast decodes them.

    word, next_word: eight codes of 4 bits each, the first in the lowest bits; they lie at
    neighbouring k. f: the field, 0 to 3. Raises ValueError for another field.
    """
    if f not in range(_FIELDS):
        raise ValueError(f"f must be from 0 to {_FIELDS - 1}, got {f}")
    rows, place = _rows(word, next_word, f)
    low, high = torch.tensor([rows[-1].bits], dtype=torch.int32).view(torch.float16).tolist()
    for row in rows:
        print(f"{row.label:13}  {row.bits:08x}")
    print(f"the two halves read {low:g} and {high:g}: {1024 >> place} + code")
    _draw(rows, (low, high), 1024 >> place)


class _Row:
    """Eight digits of four bits, each in the colour of its word, or grey where no code is left.

    code_at: the lowest bit of the chosen code in its half.
    """

    def __init__(self, label, bits, colors, code_at):
        self.label, self.bits, self.colors, self.code_at = label, bits, colors, code_at


def _rows(word, next_word, f):
    """The `_Row`s, and the place that the code has in a half at the end."""
    place = _NBITS * f % 8
    shift = _NBITS * f - place
    mask, exponent = 0x000F000F << place, (25 - place) * 0x04000400
    pairs = (next_word & 0xFFFF) << _HALF_BITS | word & 0xFFFF
    first, second = [_COLORS[0]] * _FIELDS, [_COLORS[1]] * _FIELDS
    others, rest = [OTHERS] * _FIELDS, [IDLE] * _FIELDS
    rows = [
        _Row("word of k", word, first + others, _NBITS * f),
        _Row("word of k + 1", next_word, second + others, _NBITS * f),
        _Row("pairs", pairs, first + second, _NBITS * f),
    ]
    if shift:
        digits = shift // _NBITS
        moved = (first + second)[digits:] + rest[:digits]
        rows.append(_Row(f"pairs >> {shift}", pairs >> shift, moved, place))
    for label, bits, color in (
        (f"& 0x{mask:08x}", pairs >> shift & mask, IDLE),
        (f"| 0x{exponent:08x}", pairs >> shift & mask | exponent, _EXPONENT),
    ):
        colors = [color] * (2 * _FIELDS)
        for half, own in enumerate(_COLORS):
            colors[half * _FIELDS + place // _NBITS] = own
        rows.append(_Row(label, bits, colors, place))
    return rows, place


def _draw(rows, numbers, offset):
    figure, axes = canvas(10, 0.6 + 0.52 * (len(rows) + 1))
    for number, row in enumerate(rows):
        y = number * _ROW
        write(axes, -0.5, y + 0.5, row.label, ha="right", fontsize=9)
        for digit, color in enumerate(row.colors):
            low = digit * _NBITS
            x = _WORD_BITS - low - _NBITS
            box(axes, x, y, _NBITS, color, f"{row.bits >> low & 15:x}", 10)
            if low % _HALF_BITS == row.code_at and color in _COLORS:
                frame(axes, x, y, _NBITS, 1)
    last = len(rows) * _ROW
    write(axes, -0.5, last + 0.5, "read as fp16", ha="right", fontsize=9)
    for half, value in enumerate(numbers):
        x = _WORD_BITS - (half + 1) * _HALF_BITS
        box(axes, x, last, _HALF_BITS, _COLORS[half], f"{value:g} = {offset} + code", 10)
    for bit, side in ((31, "left"), (16, "right"), (15, "left"), (0, "right")):
        x = _WORD_BITS - bit - (side == "left")
        write(axes, x, -0.5, f" bit {bit} ", ha=side, fontsize=8)
    axes.set(xlim=(-7, _WORD_BITS), ylim=(last + 1.1, -1))
    axes.axis("off")
    display_png(figure, f"A code of each word becomes a half: {numbers[0]:g} and {numbers[1]:g}")
