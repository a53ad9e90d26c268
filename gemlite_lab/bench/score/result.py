"""`Score`: how near a kernel comes to the least that its product needs."""

from dataclasses import dataclass

from gemlite_lab.bench.estimate import Estimate, NotModelled
from gemlite_lab.bench.measurements import Measurement
from gemlite_lab.bench.roofline import floor_us
from gemlite_lab.bench.score.counts import Counts

_ISSUED = 4  # instructions that a multiprocessor starts in a clock cycle, each for 32 lanes
_LANES = 32


@dataclass(frozen=True)
class Score:
    """A kernel that is right, and what part of each limit it reaches. `print` shows a table.

    title: kernel, format and shape. room: instructions that a weight may take before the H200's
    memory would be done. estimated: of an H200. row: its `Measurement`, on this machine's GPU if
    there is one, else of the estimate; without a time if it was refused or is not modelled.
    is_measured: whether the row is a measurement.
    """

    title: str
    counts: Counts
    room: float
    estimated: Estimate | NotModelled
    row: Measurement
    is_measured: bool

    @property
    def bytes(self):
        """Least bytes over the bytes moved."""
        return _part(self.counts.least, self.counts.moved)

    @property
    def instructions(self):
        """Instructions that there is room for over those of a weight; None if not counted."""
        count = self.counts.instructions
        return None if count is None else _part(self.room, count)

    @property
    def conflicts(self):
        """Wavefronts without bank conflicts over the wavefronts; None without shared memory."""
        return _part(self.counts.fewest, self.counts.wavefronts) if self.counts.fewest else None

    @property
    def time(self):
        """The memory's time for the row's bytes over the row's time; None without a time."""
        return None if self.row.refused else self.row.fraction

    def __str__(self):
        lines = [
            ("bytes", self.bytes, self._of_bytes()),
            ("instructions", self.instructions, self._of_instructions()),
            ("conflicts", self.conflicts, self._of_conflicts()),
            ("time", self.time, self._of_time()),
        ]
        table = [f"{name:13}{_percent(part):>5}  {meaning}" for name, part, meaning in lines]
        return "\n".join([f"{self.title}: right", *table])

    def _of_bytes(self):
        return (
            f"all tensors once are {self.counts.least:,} bytes, the sectors that warps ask for "
            f"{self.counts.moved:,}"
        )

    def _of_instructions(self):
        if self.counts.instructions is None:
            return f"not counted: {self.estimated.why}"
        return (
            f"{self.counts.instructions:.1f} a weight; while an H200 reads a weight, it can start "
            f"{self.room:.1f}"
        )

    def _of_conflicts(self):
        if not self.counts.fewest:
            return "no access to shared memory"
        return (
            f"{self.counts.wavefronts:,} wavefronts of shared memory, without bank conflicts "
            f"{self.counts.fewest:,}"
        )

    def _of_time(self):
        if self.row.refused:
            return self.row.refused
        row, least = self.row, floor_us(self.row.bytes, self.row.read_gb_per_s)
        ends = f"{row.p20_us:.1f} to {row.p80_us:.1f}"
        how = "measured on" if self.is_measured else "estimated for"
        return f"{row.p50_us:.1f} us ({ends}), {how} {row.device}; reading alone takes {least:.1f}"


def room_for_instructions(nbytes, weights, card):
    """How many instructions a weight may take, so that starting takes as long as reading."""
    cycles = floor_us(nbytes, card.read_gb_per_s) * card.mhz
    return cycles * card.multiprocessors * _ISSUED * _LANES / weights


def _part(least, count):
    return min(1.0, least / count)


def _percent(part):
    return "-" if part is None else f"{part:.0%}"
