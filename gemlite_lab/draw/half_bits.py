"""A picture of fp16 numbers as bits: sign, exponent and fraction."""

import torch

from gemlite_lab.draw.canvas import NEIGHBOURS, box, canvas, display_png, frame, write

_COLORS = NEIGHBOURS[2], NEIGHBOURS[3], NEIGHBOURS[0]  # of sign, exponent and fraction
_FIELDS = {"sign": range(15, 16), "exponent": range(10, 15), "fraction": range(10)}
_BITS = 16
_BIAS = 15
_READS_AT = 16.3


def half_bits(halves, code_at=None):
    """The 16 bits of each number, and what they read.

    halves: {label: bits}, whole numbers from 0 to 0xFFFF whose exponent is neither 0 nor 31.
    code_at: {label: (lowest bit, bits)} of a code to frame. Raises ValueError for other bits.
    """
    rows = [_Row(label, bits) for label, bits in halves.items()]
    width = max((len(row.label) for row in rows), default=0)
    for row in rows:
        print(f"{row.label:{width}}  {row.fields()}  reads {row.reads}")
    figure, axes = canvas(10, 0.9 + 0.42 * len(rows))
    for y, row in enumerate(rows):
        for name, color in zip(_FIELDS, _COLORS, strict=True):
            for bit in _FIELDS[name]:
                box(axes, _BITS - 1 - bit, y, 1, color, str(row.bits >> bit & 1), fontsize=10)
        if code_at and row.label in code_at:
            low, count = code_at[row.label]
            frame(axes, _BITS - low - count, y, count, 1)
        write(axes, _READS_AT, y + 0.5, row.formula, fontsize=10)
    _label(axes, rows)
    display_png(figure, f"The sign, exponent and fraction of {', '.join(row.told for row in rows)}")


class _Row:
    def __init__(self, label, bits):
        if not 0 <= bits < 2**_BITS or not 0 < bits >> 10 & 31 < 31:
            raise ValueError(
                f"{label}: the bits must be those of an fp16 number with an exponent from 1 to 30, "
                f"got {bits:#x}"
            )
        self.label, self.bits = label, bits
        power = (bits >> 10 & 31) - _BIAS
        sign = "-" if bits >> 15 else ""
        self.value = torch.tensor(bits, dtype=torch.int32).short().view(torch.float16).item()
        fraction = f"(1 + {bits & 1023}/1024) = {self.value:g}"
        self.reads = f"{sign}2^{power} {fraction}"
        self.formula = f"= {sign}$2^{{{power}}}$ {fraction}"
        self.told = f"{label}: {self.value:g}"

    def fields(self):
        text = f"{self.bits:016b}"
        return f"{text[0]} {text[1:6]} {text[6:]}"


def _label(axes, rows):
    axes.set(xlim=(0, _BITS + 7.5), ylim=(len(rows), -0.8))
    for name, bits in _FIELDS.items():
        write(axes, _BITS - 0.5 - (bits[0] + bits[-1]) / 2, -0.4, name, ha="center")
    axes.set_xticks([_BITS - 0.5 - bit for bit in (15, 10, 8, 4, 0)], [15, 10, 8, 4, 0])
    axes.set_yticks([y + 0.5 for y in range(len(rows))], [row.label for row in rows])
    axes.set_xlabel("bit", loc="left")
    axes.tick_params(length=0)
    axes.spines[["top", "right", "bottom", "left"]].set_visible(False)
