"""Read what the runner counted of each line's requests to memory."""

from collections import defaultdict
from dataclasses import dataclass

from gemlite_edu.runners.simulator.build import partly_used_vectors
from gemlite_edu.runners.simulator.report import MemoryLine, Request

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


def memory_lines(rows, text):
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


def notes_finder(rows, text, library):
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
