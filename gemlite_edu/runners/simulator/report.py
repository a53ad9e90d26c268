"""`Report`: the memory accesses of an inspected run, line by line, and the errors found in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.runners.simulator.record import Record

SECTOR_BYTES = 32
_NOT_MODELLED = "Not modelled: caches, time."


@dataclass(frozen=True)
class Request:
    """One request of a warp. bytes_of: {lane: offset of its first byte in the tensor or array}."""

    block: int
    warp: int
    cost: int  # sectors or wavefronts
    bytes_of: dict[int, int]


@dataclass(frozen=True)
class MemoryLine:
    """The accesses of one source line to one tensor or shared array, over the whole launch.

    place: "file:line"; code: its text. space: "global" or "shared"; op: "load" or "store".
    bytes_per_lane: width of the access, 1 to 16 bytes. requests: warp instructions that reached
    memory. lanes: active lanes, summed over the requests. bytes_asked: distinct bytes per request,
    summed over the requests. cost: sectors of 32 bytes (global) or wavefronts (shared).
    least_cost: the cost of the same bytes if they were adjacent and without bank conflicts.
    """

    place: str
    code: str
    space: str
    op: str
    name: str
    bytes_per_lane: int
    requests: int
    lanes: int
    bytes_asked: int
    cost: int
    least_cost: int
    first: Request
    costliest: Request

    @property
    def per_request(self) -> float:
        """Sectors or wavefronts per request."""
        return self.cost / self.requests

    @property
    def lanes_per_request(self) -> float:
        """Active lanes per request, at most 32."""
        return self.lanes / self.requests

    @property
    def bytes_moved(self) -> int:
        """Bytes of all sectors; meaningful for global memory."""
        return self.cost * SECTOR_BYTES

    @property
    def conflict_degree(self) -> float:
        """Wavefronts relative to those without bank conflicts; at least 1."""
        return self.cost / self.least_cost


@dataclass(frozen=True)
class Finding:
    """One error: a sentence, its place as "file:line" or "", and how often it happened.

    note: a hint if the place is outside the learner's own text, or "".
    """

    sentence: str
    place: str
    code: str
    count: int
    note: str = ""

    def __str__(self) -> str:
        file, _, line = self.place.rpartition(":")
        where = f"{file}, line {line}: " if file else ""
        code = f"\n    {self.code}" if self.code else ""
        return f"{where}{self.sentence}{code}" + (f"\n{self.note}" if self.note else "")


@dataclass(frozen=True)
class Phase:
    """The accesses of block 0 up to a barrier at `place`, or "" for the end; at most 64 phases.

    requests: for each warp of the block (global loads, global stores, shared loads, shared stores).
    """

    place: str
    requests: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Report:
    """An inspected launch. `print(report)` shows it as a table.

    lines: MemoryLines ordered by place. findings: the errors, the gravest first. find_notes:
    computes `notes`, which may need another compile. phases: block 0 from barrier to barrier.
    least_bytes: all tensors' bytes, each counted once. recorded: the device on which Nsight Compute
    counted this kernel, if any. y: the output, or None if the run was stopped. record: the steps of
    the window that was asked for, or None.
    """

    title: str
    lines: tuple[MemoryLine, ...]
    findings: tuple[Finding, ...]
    find_notes: Callable[[], tuple[str, ...]] = field(repr=False, compare=False)
    phases: tuple[Phase, ...]
    least_bytes: int
    recorded: str = ""
    y: torch.Tensor | None = field(default=None, repr=False)
    record: Record | None = field(default=None, repr=False)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences about lines that a GPU's compiler may compile differently."""
        return self.find_notes()

    def of(self, name: str, op: str = "load") -> tuple[MemoryLine, ...]:
        """The MemoryLines of one tensor or shared array; ValueError if there was no such access."""
        found = tuple(line for line in self.lines if (line.name, line.op) == (name, op))
        if not found:
            there = (
                ", ".join(sorted({f"{line.op} {line.name}" for line in self.lines})) or "nothing"
            )
            raise ValueError(f"there is no {op} of {name!r} in this report; there is {there}")
        return found

    def per_request(self, name: str, op: str = "load") -> float:
        """Sectors (global) or wavefronts (shared) per request, over all lines that use `name`."""
        found = self.of(name, op)
        return sum(line.cost for line in found) / sum(line.requests for line in found)

    def total(self, space: str, op: str) -> tuple[int, int]:
        """(requests, cost) for a space, "global" or "shared", and an op, "load" or "store"."""
        found = [line for line in self.lines if (line.space, line.op) == (space, op)]
        return sum(line.requests for line in found), sum(line.cost for line in found)

    @property
    def bytes_moved(self) -> int:
        """Bytes of all sectors of global memory, for loads and stores together."""
        return sum(line.bytes_moved for line in self.lines if line.space == "global")

    def raise_findings(self) -> None:
        """Raise KernelFault with the gravest finding, if there is one."""
        if self.findings:
            raise KernelFault(str(self.findings[0]))

    def __str__(self) -> str:
        parts = [self.title, *_table(self, "global"), *_table(self, "shared")]
        if any(line.space == "global" for line in self.lines):
            times = self.bytes_moved / self.least_bytes
            parts.append(
                f"all tensors once: {self.least_bytes:,} bytes; moved: {self.bytes_moved:,} bytes, "
                f"{times:.2f} times as much"
            )
        if self.y is None:
            parts.append("The run was stopped: the counts are of what came before.")
        parts += [f"note: {note}" for note in self.notes]
        parts += [f"WRONG: {finding}{_times(finding.count)}" for finding in self.findings]
        parts.append(f"{self._what_it_is_worth()} {_NOT_MODELLED}")
        return "\n".join(parts)

    def _what_it_is_worth(self) -> str:
        if self.recorded and not self.notes:
            return f"Nsight Compute counted the same at recorded shapes ({self.recorded})."
        return "Counts of a model: a GPU's compiler may make other accesses."


def _times(count: int) -> str:
    return f"\n    ({count:,} times)" if count > 1 else ""


def _table(report: Report, space: str) -> Iterator[str]:
    rows = [line for line in report.lines if line.space == space]
    if not rows:
        return
    heads = ("sectors", "bytes asked/moved") if space == "global" else ("wavefronts", "conflicts")
    names = max(len("global memory"), *(len(_what(row)) for row in report.lines))
    places = max(len(row.place) for row in report.lines)
    yield (
        f"{space + ' memory':{names}}  {'':{places}} {'requests':>9} {heads[0]:>10} "
        f"{'each':>6} {'lanes':>5} {heads[1]:>21}"
    )
    for row in rows:
        share = (
            f"{row.bytes_asked:,}/{row.bytes_moved:,}"
            if space == "global"
            else f"{row.conflict_degree:.2f}-fold"
            if row.cost > row.least_cost
            else "none"
        )
        yield (
            f"{_what(row):{names}}  {row.place:{places}} {row.requests:>9,} {row.cost:>10,} "
            f"{row.per_request:>6.2f} {row.lanes_per_request:>5.1f} {share:>21}"
        )


def _what(row: MemoryLine) -> str:
    return f"{row.op:5} {row.name}, {row.bytes_per_lane} B"
