"""Run an instrumented kernel and read the runner's report."""

import re
from collections import defaultdict
from dataclasses import dataclass

from gemlite_edu.kernels.calls_in_hole import lead_to_own_line, lines_by_place
from gemlite_edu.runners.simulator.build import SHIM, build_instrumented_kernel, partly_used_vectors
from gemlite_edu.runners.simulator.dependence import unwritten_local
from gemlite_edu.runners.simulator.fault_sentences import fault_sentence
from gemlite_edu.runners.simulator.finding_sentences import Found
from gemlite_edu.runners.simulator.instrument import lines_of
from gemlite_edu.runners.simulator.local_arrays import overrun_local
from gemlite_edu.runners.simulator.report import Finding, MemoryLine, Phase, Report, Request
from gemlite_edu.runners.simulator.run import (
    ASLEEP,
    SAME_AGAIN,
    Tensor,
    count_workers,
    run_once,
    show_what_it_printed,
    tensors_by_name,
)

_WARP_SIZE = 32
_GRAVEST_FIRST = (
    *("outside", "misaligned", "left", "barriers", "pending", "race", "kept", "unwritten"),
)


def inspect_kernel(library, source, arguments, launch, time_limit, title, recorded=""):
    """Launch `library` (from `build_instrumented_kernel`) and return the `Report`.

    source: the text whose lines the report quotes. recorded: where Nsight Compute has counted it.
    Outputs are written in place if the run completes.
    """
    sites = library.parent / "sites.txt"
    workers = count_workers(launch)
    raw, printed = run_once(library, arguments, launch, time_limit, workers, sites)
    if workers > 1 and ("\nfinding " in raw or not _status(raw).startswith(SAME_AGAIN)):
        # One worker finds the errors in the order of the blocks, so every run reports the same.
        again, printed = run_once(library, arguments, launch, time_limit, 1, sites)
        raw = raw if _status(again).startswith(("endless", ASLEEP)) else again
    show_what_it_printed(printed)
    text = _Text(library, source, tensors_by_name(arguments), launch)
    *rows, status = raw.splitlines()
    findings = _findings(rows, status, text, time_limit, printed)
    if not status.startswith(("endless", ASLEEP)):
        run = (arguments, launch, time_limit)
        found = overrun_local(library, raw, source, *run) or unwritten_local(library, raw, *run)
        findings = (*([text.finding(found[1], found[0], 1)] if found else []), *findings)
    return Report(
        title=title,
        lines=_memory_lines(rows, text),
        findings=findings,
        find_notes=_notes_finder(rows, text, library),
        phases=_phases(rows, text),
        least_bytes=sum(t.nbytes for t in text.tensors.values()),
        recorded=recorded,
        y=_output(arguments) if status == "done" else None,
    )


def _output(arguments):
    return next((a.value for a in arguments if isinstance(a, Tensor) and a.is_output), None)


def _status(raw):
    """The last line of the runner's report."""
    return raw.rpartition("\n")[2]


def inspect_text(text, arguments, launch, entry="kernel", time_limit=10.0):
    """Launch the __global__ function `entry` of a CUDA text and return the `Report`.

    arguments: `Tensor`s and `Integer`s in the order of its parameters; launch: a `Launch`.
    Line numbers ignore an empty first line of the text, as in the text of a hole.
    Outputs are written in place if the run completes. Raises KernelTextError if the text does not
    compile.
    """
    text = text.removeprefix("\n")
    library = build_instrumented_kernel(text, entry, {})
    title = f"{entry}: {launch}"
    return inspect_kernel(library, text, arguments, launch, time_limit, title)


class _Text:
    """Translates the runner's numbers to names: sites, lines, objects."""

    def __init__(self, library, source, tensors, launch):
        self._library, folder = library, library.parent
        self.places = (folder / "lines.txt").read_text().splitlines()
        self.tensors, self.launch = tensors, launch
        self._source, self._code = source, lines_by_place(source)
        self.order_of = {place: number for number, place in enumerate(self._code)}
        self._objects = [*tensors, *(folder / "arrays.txt").read_text().splitlines()]
        sites = (folder / "sites.txt").read_text()
        sizes = re.findall(r"array \d+ (\d+) (\d)", sites)
        self._array_bytes = [
            launch.shared_bytes if kind == "1" else int(size) for size, kind in sizes
        ]
        self._variable_bytes = [int(size) for size in re.findall(r"variable \d+ (\d+)", sites)]

    def place(self, site):
        return self.places[site] if 0 <= site < len(self.places) else ""

    def place_of_end(self, site, instruction):
        """The place where a run ended: an instrument's call, or an uninstrumented instruction.

        instruction: its address in the library; 0 if it is not known.
        """
        if not instruction:
            return self.place(site)
        (place,) = lines_of(self._library, [instruction + 1], SHIM)
        return place or self.place(site)

    def code(self, place):
        return self._code.get(place, "").strip()

    def finding(self, sentence, place, count, other_place=""):
        """Make a `Finding`; other_place: for a race, where the other thread was."""
        is_own = other_place and not lead_to_own_line(other_place, self._source)
        note = "" if is_own else lead_to_own_line(place, self._source)
        return Finding(sentence, place, self.code(place), count, note)

    def name(self, number):
        return self._objects[number]

    def describe(self, number, details):
        """(name, bytes, bytes per element, whether a variable, width of the grid) of an object."""
        *_, size, _ = details
        grid_x = self.launch.grid[0]
        if number < 0:
            return "", 0, 1, False, grid_x
        name = self.name(number)
        if number < len(self.tensors):
            tensor = self.tensors[name]
            return name, tensor.nbytes, tensor.element_size(), False, grid_x
        number -= len(self.tensors)
        arrays = len(self._array_bytes)
        if number >= arrays:
            return name, self._variable_bytes[number - arrays], size, True, grid_x
        return name, self._array_bytes[number], size, False, grid_x

    def order(self, place):
        return self.order_of.get(place, -1)


# (kind that the runner counts besides the costs, the sentence about it)
_MAY_DIFFER = (
    (
        "repeated",
        "{name} is loaded from the same addresses again and again: "
        "a GPU's compiler may keep it in a register",
    ),
    (
        "mergeable",
        "two sides of a branch {verb} {name}: a GPU's compiler may make one request of both",
    ),
    (
        "adjacent",
        "neighbours in {name} come one after the other: "
        "a GPU's compiler may {verb} them in one wide access",
    ),
    (
        "leaving",
        "lanes leave this loop at different turns: a GPU's compiler unrolls loops, "
        "and may then make more requests to {verb} {name}",
    ),
)
_PARTLY_USED = (
    "a vector is loaded of which not all fields are used: "
    "a GPU's compiler may load only those, one by one"
)


@dataclass(frozen=True)
class _Row:
    """One "row" of the runner's report: a site, an object, and its counts."""

    site: int
    object: int
    writes: bool
    size: int
    counts: tuple[int, ...]  # requests, lanes, asked, units, least, and what _MAY_DIFFER names

    def happened(self, kind):
        """True if the runner counted `kind`; for "repeated", if most loads of the row repeat."""
        number = self.counts[5 + [name for name, _ in _MAY_DIFFER].index(kind)]
        if kind == "repeated":
            return not self.writes and number * 2 > self.counts[0]
        return number > 0

    @property
    def key(self):
        return self.site, self.object, self.writes, self.size


def _read_rows(rows):
    for row in rows:
        if row.startswith("row "):
            site, number, writes, size, *counts = map(int, row.split()[1:])
            yield _Row(site, number, bool(writes), size, tuple(counts))


def _read_samples(rows):
    """{key of a row: {"first" or "costliest": ((block, turn), Request)}}"""
    found = defaultdict(dict)
    for row in rows:
        if not row.startswith("sample "):
            continue
        _, site, number, writes, size, which, block, turn, warp, cost, *lanes = row.split()
        request = Request(
            block=int(block),
            warp=int(warp),
            cost=int(cost),
            bytes_of={int(lane): int(at) for lane, _, at in (x.partition(":") for x in lanes)},
        )
        key = (int(site), int(number), bool(int(writes)), int(size))
        found[key][which] = ((int(block), int(turn)), request)
    return found


def _memory_lines(rows, text):
    samples = _read_samples(rows)
    merged = defaultdict(list)
    for row in _read_rows(rows):
        merged[text.place(row.site), row.object, row.writes, row.size].append(row)
    lines = [_memory_line(key, group, samples, text) for key, group in merged.items()]
    return tuple(sorted(lines, key=lambda line: (text.order(line.place), line.op, line.name)))


def _memory_line(key, group, samples, text):
    place, number, writes, size = key
    requests, lanes, asked, units, least = (sum(row.counts[i] for row in group) for i in range(5))
    firsts = [samples[row.key]["first"] for row in group]
    costly = [samples[row.key]["costliest"] for row in group]
    return MemoryLine(
        place=place,
        code=text.code(place),
        space="global" if number < len(text.tensors) else "shared",
        op="store" if writes else "load",
        name=text.name(number),
        bytes_per_lane=size,
        requests=requests,
        lanes=lanes,
        bytes_asked=asked,
        cost=units,
        least_cost=least,
        first=min(firsts, key=lambda sample: sample[0])[1],
        costliest=min(costly, key=lambda sample: (-sample[1].cost, sample[0]))[1],
    )


def _notes_finder(rows, text, library):
    """A function that returns sentences about accesses that a GPU's compiler may well change.

    The function keeps no reference to the tensors.
    """
    found, order = set(), text.order_of
    for row in _read_rows(rows):
        for kind, sentence in _MAY_DIFFER:
            if row.happened(kind):
                verb = "store" if row.writes else "load"
                note = sentence.format(name=text.name(row.object), verb=verb)
                found.add((text.place(row.site), note))
    find_partly_used = partly_used_vectors(library)

    def find():
        partly = {(place, _PARTLY_USED) for place in find_partly_used()}
        ordered = sorted(found | partly, key=lambda key: (order.get(key[0], -1), key[1]))
        return tuple(f"{place}: {note}" for place, note in ordered)

    return find


def _findings(rows, status, text, time_limit, printed):
    found = sorted(_read_findings(rows, text), key=lambda item: item[:2])
    found = tuple(finding for _, _, finding in found)
    if status in ("done", "misaligned access"):
        return found
    place = _place_of_end(rows[0], text) if rows else ""
    sentence = fault_sentence(status, text.tensors, time_limit, printed)
    return (text.finding(sentence, place, 1), *found)


def _place_of_end(row, text):
    _, site, instruction = row.split()
    return text.place_of_end(int(site), int(instruction, 16))


def _read_findings(rows, text):
    """(gravity, (block, turn), Finding) of each finding, except reads that a race explains."""
    grouped = defaultdict(list)
    for row in rows:
        if row.startswith("finding "):
            kind, *numbers = row.split()[1:]
            number, site, other, count, *details = map(int, numbers)
            key = (kind, number, text.place(site), text.place(other))
            grouped[key].append((details, count))  # a line may have several sites
    racing = {(key[1], place) for key in grouped if key[0] == "race" for place in key[2:]}
    for (kind, number, place, other_place), group in grouped.items():
        if kind == "unwritten" and (number, place) in racing:
            continue
        (block, turn, *details), _ = min(group)
        count = sum(times for _, times in group)
        found = Found(
            kind, *text.describe(number, details), place, other_place, block, count, *details
        )
        finding = text.finding(found.sentence(), place, count, other_place)
        yield _GRAVEST_FIRST.index(kind), (block, turn), finding


def _phases(rows, text):
    found = []
    for row in rows:
        if row.startswith("phase "):
            end, *counts = map(int, row.split()[1:])
            warps = -(-text.launch.threads_per_block // _WARP_SIZE)
            requests = tuple(tuple(counts[4 * w : 4 * w + 4]) for w in range(warps))
            found.append(Phase(text.place(end), requests))
    return tuple(found)
