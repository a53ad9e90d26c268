"""The frame of a step: what each lane's box shows, the lines from it, and the row they lead to."""

from dataclasses import dataclass

from gemlite_lab.draw.step_words import cells_of_banks, is_instruction, sectors, short

COLUMN, BOX = 32, 28  # widths
LANES_TOP, LANES_HEIGHT = 28, 32
CELLS_TOP, CELLS_HEIGHT = 108, 64
_SECTOR_BYTES, _BANK_BYTES, _BANKS = 32, 4, 32
_LANES = 32
_LONGEST_INDEX = 5  # characters
_MOST_CELLS = 4  # of a bank, at full height
_FILLED = 0.85  # of a cell's height: a gap shows where the next one begins

# What a lane does; the page has a colour for each.
KINDS = {
    "g": "load from global memory",
    "G": "store to global memory",
    "s": "load from shared memory",
    "S": "store to shared memory",
    "a": "copy asynchronously",
    "c": "end a batch of copies, or wait for it",
    "x": "multiply matrices",
    "m": "meet other lanes",
    "w": "wait",
    "e": "have ended",
    "-": "take no part",
}
_SUMS = "in each box: the first of the lane's sums; all of them are in the text below"
_REGISTERS = "factors and sums are in registers, and not recorded"
_KIND_OF_OP = {
    "async_load": "a",
    "async_store": "a",
    "commit": "c",
    "wait": "c",
    "mma_sync": "x",
}


@dataclass(frozen=True)
class Frame:
    """Rows have an entry for each of 32 columns; paths are SVG's.

    doing: a letter of KINDS for each lane. index, value: the two labels in a lane's box. wrong: a
    mark over each lane at fault. cell, number: in and under each column of the lower row. The lines
    lead from lanes to columns; `other` are those to another lane, or to what another warp has
    written. served: cells that banks deliver
    first; waits: cells that they deliver later, and bytes of sectors that nobody asked for; asked:
    bytes of sectors asked for; plain: a column that is a lane. under: what the lower row is.
    """

    doing: str
    index: tuple[str, ...]
    value: tuple[str, ...]
    wrong: tuple[str, ...]
    cell: tuple[str, ...] = ("",) * _LANES
    number: tuple[str, ...] = ("",) * _LANES
    lines: str = ""
    other: str = ""
    served: str = ""
    waits: str = ""
    asked: str = ""
    plain: str = ""
    under: str = ""


def frame_of(step, warp=0):
    """The `Frame` of a recorded step of `warp`."""
    lanes = {
        "doing": "".join(_doing(step, lane) for lane in range(_LANES)),
        "index": _row(_indices(step)),
        "value": _row({lane: short(numbers[0]) for lane, numbers in step.values.items()}),
        "wrong": _row({lane: "✗" for lane in step.faulty}),
    }
    return Frame(**lanes, **_lower_row(step, warp))


def kind_of(step):
    """The letter of KINDS for the lanes that take part."""
    if step.op in _KIND_OF_OP or is_instruction(step):
        return _KIND_OF_OP.get(step.op, "x")
    if not step.bytes_of:
        return "m"
    letter = "s" if step.space == "shared" else "g"
    return letter if step.op == "load" else letter.upper()


def _doing(step, lane):
    if lane in step.lanes:
        return kind_of(step)
    return "w" if lane in step.waiting else "e" if lane in step.ended else "-"


def _row(label_of):
    return tuple(str(label_of.get(lane, "")) for lane in range(_LANES))


def _indices(step):
    """The lanes' elements; where one is too long for a box, each as far as it is from the least."""
    first = {lane: byte // step.element_bytes for lane, byte in step.bytes_of.items()}
    if all(len(str(number)) <= _LONGEST_INDEX for number in first.values()):
        return first
    further = {lane: f"+{number - min(first.values())}" for lane, number in first.items()}
    return {lane: label for lane, label in further.items() if len(label) <= _LONGEST_INDEX}


def _lower_row(step, warp):
    if step.sources:
        return _lanes_below(step)
    if step.bytes_of and step.space == "shared":
        return _banks_below(step, warp)
    if step.bytes_of and step.space == "global":
        return _sectors_below(step)
    if kind_of(step) == "x":
        return {"under": _SUMS if step.values else _REGISTERS}
    return {}


def _lanes_below(step):
    """The lanes again, with what each has got."""
    own = [lane for lane, source in step.sources.items() if source == lane]
    return {
        "cell": _row({lane: short(numbers[0]) for lane, numbers in step.taken.items()}),
        "number": _row({lane: lane for lane in step.lanes}),
        "lines": "".join(_line(lane, lane) for lane in own),
        "other": "".join(
            _line(source, lane) for lane, source in step.sources.items() if source != lane
        ),
        "plain": "".join(_rectangle(lane, 0, 1, 0, 1) for lane in step.lanes),
        "under": "what each lane gets",
    }


def _sectors_below(step):
    touched = sectors(step)
    left = (_LANES - len(touched)) // 2
    column = {sector: left + place for place, sector in enumerate(touched)}
    asked = {
        cell
        for first in step.bytes_of.values()
        for cell in range(
            first // _BANK_BYTES, (first + step.bytes_per_lane - 1) // _BANK_BYTES + 1
        )
    }
    each = _SECTOR_BYTES // _BANK_BYTES
    return {
        "number": _row({column[sector]: sector for sector in touched}),
        "lines": "".join(
            _line(lane, column[first // _SECTOR_BYTES]) for lane, first in step.bytes_of.items()
        ),
        "waits": "".join(_rectangle(place, 0, 1, 0, 1) for place in column.values()),
        "asked": "".join(
            _rectangle(column[cell // each], cell % each / each, 1 / each, 0, 1)
            for cell in sorted(asked)
        ),
        "under": f"sectors of {step.name}, 32 bytes each",
    }


def _banks_below(step, warp):
    banks = cells_of_banks(step)
    height = 1 / max(_MOST_CELLS, *map(len, banks.values()))
    others = [lane for lane, thread in step.writers.items() if thread // _LANES != warp]
    first_bank = {lane: first // _BANK_BYTES % _BANKS for lane, first in step.bytes_of.items()}
    return {
        "cell": _row({bank: f"×{len(cells)}" for bank, cells in banks.items() if len(cells) > 1}),
        "number": _row({bank: bank for bank in range(_BANKS)}),
        "lines": "".join(
            _line(lane, first_bank[lane]) for lane in first_bank if lane not in others
        ),
        "other": "".join(_line(lane, first_bank[lane]) for lane in others),
        "served": "".join(_rectangle(bank, 0, 1, 0, height * _FILLED) for bank in banks),
        "waits": "".join(
            _rectangle(bank, 0, 1, turn * height, height * _FILLED)
            for bank, cells in banks.items()
            for turn in range(1, len(cells))
        ),
        "under": f"banks of {step.name}, and the cells of 4 bytes that each delivers one by one",
    }


def _line(lane, column):
    """From the bottom of a lane's box to the top of a column."""
    start, end = LANES_TOP + LANES_HEIGHT, CELLS_TOP
    return f"M{_middle(lane)} {start}L{_middle(column)} {end}"


def _middle(column):
    return column * COLUMN + COLUMN // 2


def _rectangle(column, left, width, top, height):
    """A part of a column of the lower row, in fractions of it."""
    x = column * COLUMN + (COLUMN - BOX) // 2 + left * BOX
    return (
        f"M{x:g} {CELLS_TOP + top * CELLS_HEIGHT:g}h{width * BOX:g}v{height * CELLS_HEIGHT:g}"
        f"h{-width * BOX:g}z"
    )
