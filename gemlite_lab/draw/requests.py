"""Pictures of the memory that one warp request touches: global sectors, or shared banks.

A cell is the 4 bytes that a bank delivers at once; CUDA's documents call it a word of 32 bits.
"""

from collections import defaultdict

from gemlite_lab.draw.canvas import (
    ASKED,
    GRID,
    INK,
    LANE,
    WAITING,
    box,
    counted,
    display_png,
    legend,
    rectangle,
    stacked,
    write,
)

_WARP_SIZE = 32
_SECTOR_BYTES = 32
_BANKS = 32
_BANK_BYTES = 4
_LEGEND_HEIGHT = 0.3  # inches, like all heights


def draw_pictures(pictures, titles, alternative_text):
    """Display pictures of one kind above each other, at one scale."""
    kind = type(pictures[0])
    scale = kind.common_scale(pictures)
    heights = [picture.height(scale) for picture in pictures]
    height = sum(heights) + len(heights) * kind.LABELS_HEIGHT + _LEGEND_HEIGHT
    figure = stacked(10, height, heights)
    for axes, picture, title in zip(figure.axes, pictures, titles, strict=True):
        picture.draw(axes, scale)
        axes.set_title(title, fontsize="medium")
    legend(figure, kind.legend())
    display_png(figure, alternative_text)


class SectorPicture:
    """Lanes above the 32-byte sectors that hold their bytes; untouched sectors are left out.

    bytes_of: {lane: its first byte}. A scale is the width of a sector, in lanes.
    """

    LABELS_HEIGHT = 0.8

    def __init__(self, bytes_of, bytes_each, lanes=_WARP_SIZE):
        self.bytes_of, self.bytes_each, self.lanes = bytes_of, bytes_each, lanes
        self.asked = {b for first in bytes_of.values() for b in range(first, first + bytes_each)}
        self.numbers = sorted({byte // _SECTOR_BYTES for byte in self.asked})
        self.cost = len(self.numbers)
        self._left = {}  # left edge of each sector, in sector widths
        for at, number in enumerate(self.numbers):
            is_neighbour = number - 1 in self._left
            before = self._left[self.numbers[at - 1]] + 1 if at else 0
            self._left[number] = before + 0.25 * (at > 0 and not is_neighbour)

    def __str__(self):
        asks = "asks" if len(self.bytes_of) == 1 else "ask"
        return (
            f"{counted(len(self.bytes_of), 'lane')} {asks} for {counted(len(self.asked), 'byte')}: "
            f"{counted(self.cost, 'sector')}, {self.cost * _SECTOR_BYTES} bytes moved"
        )

    @property
    def title(self):
        return f"{counted(self.cost, 'sector')} of 32 bytes"

    @property
    def alternative_text(self):
        lanes = counted(len(self.bytes_of), "lane")
        return f"Lines from {lanes} to the {counted(self.cost, 'sector')} they touch"

    @property
    def _width(self):
        return self._left[self.numbers[-1]] + 1

    @staticmethod
    def common_scale(pictures):
        widest = max(picture._width for picture in pictures)
        return max(picture.lanes for picture in pictures) / max(4, widest)

    @staticmethod
    def height(scale):
        return 1.3

    @staticmethod
    def legend():
        return [
            rectangle(0, 0, 1, 1, ASKED, label="bytes asked for"),
            rectangle(0, 0, 1, 1, WAITING, label="bytes moved, not asked for"),
            _dots([], [], "none", INK, "inactive lane"),
        ]

    def draw(self, axes, scale):
        left = (self.lanes - self._width * scale) / 2

        def place(byte):
            number, inside = divmod(byte, _SECTOR_BYTES)
            return left + (self._left[number] + inside / _SECTOR_BYTES) * scale

        corners = [place(number * _SECTOR_BYTES) for number in self.numbers]
        asked = [(place(byte), scale / _SECTOR_BYTES) for byte in sorted(self.asked)]
        axes.broken_barh([(x, scale) for x in corners], (-0.25, 0.25), color=WAITING)
        axes.broken_barh(asked, (-0.25, 0.25), color=ASKED, linewidth=0.7)
        for x in corners:
            axes.add_patch(rectangle(x, -0.25, scale, 0.25, "none"))
        for lane, first in self.bytes_of.items():
            last = place(first + self.bytes_each - 1) + scale / _SECTOR_BYTES
            middle = (place(first) + last) / 2
            axes.plot([lane + 0.5, middle], [1, 0], color=ASKED, linewidth=0.8)
        self._draw_lanes(axes)

    def _draw_lanes(self, axes):
        active = [lane + 0.5 for lane in self.bytes_of]
        inactive = [lane + 0.5 for lane in range(self.lanes) if lane not in self.bytes_of]
        axes.add_line(_dots(inactive, [1] * len(inactive), "none", INK))
        axes.add_line(_dots(active, [1] * len(active), ASKED, ASKED))
        first, end = (self.numbers[i] * _SECTOR_BYTES for i in (0, -1))
        gaps = "" if self._width == self.cost else ", gaps left out"
        axes.set_xlabel(f"bytes {first:,} to {end + _SECTOR_BYTES - 1:,}{gaps}")
        axes.set(xlim=(-0.5, self.lanes + 0.5), ylim=(-0.3, 1.2))
        axes.spines[:].set_visible(False)
        axes.set_yticks([-0.125, 1], ["sectors", "lanes"])
        lanes = range(0, self.lanes, 4)
        axes.xaxis.tick_top()
        axes.set_xticks([lane + 0.5 for lane in lanes], lanes)


def _dots(x, y, color, edge, label=None):
    from matplotlib.lines import Line2D

    return Line2D(
        x, y, linestyle="", marker="o", color=color, markeredgecolor=edge, markersize=6, label=label
    )


def _lanes_at_once(bytes_of, bytes_each, writes):
    """How many lanes shared memory serves at once; the simulator's request.h has the same rule."""

    def partners_agree(flip):
        return all(bytes_of.get(lane ^ flip, first) == first for lane, first in bytes_of.items())

    lanes = min(_WARP_SIZE, _BANKS * _BANK_BYTES // bytes_each)
    is_wide_load = bytes_each > _BANK_BYTES and not writes
    return 2 * lanes if is_wide_load and (partners_agree(1) or partners_agree(2)) else lanes


class BankPicture:
    """The cells that the banks of shared memory deliver, wavefront by wavefront.

    bytes_of: {lane: its first byte}. A scale is the height of a wavefront, in inches.
    """

    LABELS_HEIGHT = 0.85

    def __init__(self, bytes_of, bytes_each, writes):
        self.lanes_at_once = _lanes_at_once(bytes_of, bytes_each, writes)
        self.phases = defaultdict(lambda: [{} for _ in range(_BANKS)])  # {cell: its lanes} per bank
        for lane, first in sorted(bytes_of.items()):
            phase = self.phases[lane // self.lanes_at_once]
            for cell in range(first // _BANK_BYTES, (first + bytes_each - 1) // _BANK_BYTES + 1):
                phase[cell % _BANKS].setdefault(cell, []).append(lane)
        self.cost = sum(self._wavefronts(phase) for phase in self.phases.values())

    @staticmethod
    def _wavefronts(phase):
        return max(len(cells) for cells in phase)

    def _lanes(self, number):
        first = number * self.lanes_at_once
        return f"lanes {first} to {first + self.lanes_at_once - 1}"

    def __str__(self):
        lines = []
        for number, phase in self.phases.items():
            lanes = f"{self._lanes(number)}, " if self.lanes_at_once < _WARP_SIZE else ""
            lines.append(f"{lanes}distinct cells per bank: {[len(cells) for cells in phase]}")
        return "\n".join([*lines, self.title])

    @property
    def title(self):
        return counted(self.cost, "wavefront")

    @property
    def alternative_text(self):
        return f"The cells that each of 32 banks delivers in {self.title}"

    @staticmethod
    def common_scale(pictures):
        return min(0.2, 5 / sum(picture.cost for picture in pictures))

    def height(self, scale):
        return scale * self.cost

    @staticmethod
    def legend():
        return [
            rectangle(0, 0, 1, 1, LANE, label="a cell with the lane that asks for it, ×n: n lanes"),
            rectangle(0, 0, 1, 1, WAITING, label="a cell that waits: its bank was busy"),
        ]

    def draw(self, axes, scale):
        start = 0
        for number, phase in self.phases.items():
            for bank, cells in enumerate(phase):
                for turn, lanes in enumerate(cells.values()):
                    label = str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"
                    color = WAITING if turn else LANE
                    box(axes, bank, start + turn, 1, color, label, fontsize=min(7, scale * 48))
            end = start + self._wavefronts(phase)
            if self.lanes_at_once < _WARP_SIZE:
                write(axes, 32.2, (start + end) / 2, self._lanes(number), fontsize=8)
                axes.axhline(end, color=INK, linewidth=0.8)
            start = end
        axes.set(xlim=(0, _BANKS), ylim=(self.cost, 0), xlabel="bank")
        axes.set_xticks([bank + 0.5 for bank in range(0, _BANKS, 4)], range(0, _BANKS, 4))
        axes.set_xticks(range(1, _BANKS), minor=True)
        axes.tick_params(which="minor", length=0)
        axes.grid(axis="x", which="minor", color=GRID)
        axes.set_axisbelow(True)
        step = max(1, self.cost // 8)
        numbers = ["wavefront 1", *range(1 + step, self.cost + 1, step)]
        axes.set_yticks([i + 0.5 for i in range(0, self.cost, step)], numbers)
