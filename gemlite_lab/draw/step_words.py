"""A step of a warp in words: a heading, and all that its picture shows."""

from gemlite_lab.draw.canvas import counted

_SECTOR_BYTES = 32
_BANK_BYTES, _BANKS = 4, 32
_VERBS = {  # of one lane, of several
    "load": ("loads", "load"),
    "store": ("stores to", "store to"),
    "atomic": ("changes atomically", "change atomically"),
    "async_load": ("copies asynchronously from", "copy asynchronously from"),
    "async_store": ("copies asynchronously to", "copy asynchronously to"),
    "commit": ("ends a batch of its copies", "end a batch of their copies"),
    "wait": ("waits until", "wait until"),
    "barrier": ("waits at a barrier for", "wait at a barrier for"),
    "shuffle": ("takes", "take"),
    "meet": ("meets at", "meet at"),
}


def heading(step, warp=0):
    """What the lanes of `warp` do, what it costs, whose values they load, and the gravest fault."""
    wrong = f". WRONG: {step.faults[0]}" if step.faults else ""
    return f"{_lanes_of(step)}{_deed(step)}{_by_others(step, warp)}{wrong}"


def details(step):
    """Lane by lane, what the picture shows, and the other faults."""
    parts = []
    if step.bytes_of:
        parts.append(f"elements of {step.name}: {series(_elements(step))}")
    if step.space in _PLACES:
        parts.append(_PLACES[step.space](step))
    if step.sources:
        parts.append(f"from lane: {series(step.sources)}")
    if step.writers:
        parts.append(f"written by thread: {series(step.writers)}")
    if step.values:
        parts.append(f"{_name_of_values(step)}: {series(_numbers(step.values))}")
    if step.taken:
        parts.append(f"gets: {series(_numbers(step.taken))}")
    if step.copies:
        counts = (f"batch {batch}: {count} copies" for batch, count in step.copies.items())
        parts.append(f"on their way before this step: {', '.join(counts)}")
    for name in ("waiting", "ended"):
        lanes = getattr(step, name)
        if lanes:
            parts.append(f"{name}: {lane_ranges(lanes)}")
    if step.faulty:
        parts.append(f"at fault: {lane_ranges(step.faulty)}")
    return "".join(f"{part}. " for part in [*parts, *step.faults[1:]]).rstrip()


def sectors(step):
    """The numbers of the 32-byte sectors that the step touches, counted in the tensor."""
    return sorted(
        {
            byte // _SECTOR_BYTES
            for first in step.bytes_of.values()
            for byte in (first, first + step.bytes_per_lane - 1)
        }
    )


def cells_of_banks(step):
    """{bank: the numbers of its cells of 4 bytes that the step wants}"""
    found = {}
    for first in step.bytes_of.values():
        last = first + step.bytes_per_lane - 1
        for cell in range(first // _BANK_BYTES, last // _BANK_BYTES + 1):
            found.setdefault(cell % _BANKS, set()).add(cell)
    return found


def short(number):
    """A number in at most six characters, as it fits into a lane.

    >>> [short(number) for number in (3, -0.3333333, 40000.0, 0.00001234, float("nan"))]
    ['3', '-0.333', '40000', '1e-05', 'nan']
    """
    for digits in (5, 4, 3, 2, 1):
        text = f"{number:.{digits}g}"
        if len(text) <= 6:
            return text
    return "…"


def series(number_of):
    """The numbers of the lanes in order, without the lanes if all 32 have one.

    >>> series({lane: 2 * lane for lane in range(32)}), series({0: 5, 3: "a"})
    ('0, 2, …, 62', 'lane 0: 5, lane 3: a')
    """
    if len(number_of) < 32:
        return ", ".join(f"lane {lane}: {number}" for lane, number in number_of.items())
    numbers = list(number_of.values())
    if len(set(numbers)) == 1:
        return f"{numbers[0]} in every lane"
    if _rise_evenly(numbers):
        return f"{numbers[0]}, {numbers[1]}, …, {numbers[-1]}"
    return ", ".join(map(str, numbers))


def _rise_evenly(numbers):
    if not all(isinstance(number, int) for number in numbers):
        return False
    return len({b - a for a, b in zip(numbers, numbers[1:], strict=False)}) == 1


def lane_ranges(lanes):
    """
    >>> lane_ranges((0, 1, 2, 5))
    'lanes 0–2, 5'
    """
    return runs("lane", lanes)


def runs(noun, numbers):
    """
    >>> runs("warp", (0, 1, 2, 5)), runs("warp", [3])
    ('warps 0–2, 5', 'warp 3')
    """
    found = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    words = ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in found)
    return f"{noun}{'s' * (len(numbers) > 1)} {words}"


def _lanes_of(step):
    if not step.lanes:
        return ""
    return "all lanes " if len(step.lanes) == 32 else f"{lane_ranges(step.lanes)} "


def _deed(step):
    if step.op == "stop":
        return "the run stops here"
    several = len(step.lanes) > 1
    verb = _VERBS.get(step.op, _VERBS["meet"])[several]
    if step.op == "commit":
        return verb
    if step.op == "wait":
        return f"{verb} {_awaited(step.left)}"
    if step.op == "barrier":
        return f"{verb} all warps of the block"
    if step.op == "shuffle":
        return f"{verb} in a shuffle the value {_whose(step.sources)}"
    if is_instruction(step):
        made = counted(step.merged, "shuffle")
        return f"multiply by {step.op}, of which the simulator makes {made}"
    if step.op == "mma_sync":
        return f"multiply fragments by mma_sync, {_count_of_sums(step)} sums each"
    if not step.name:
        return f"{verb} {step.op}"
    width = f"{counted(step.bytes_per_lane, 'byte')} each"
    return f"{verb} {step.name}, {width}{_cost(step)}"


def is_instruction(step):
    """True for steps of the simulator that stand in for one instruction of a GPU."""
    return "." in step.op


def _awaited(left):
    if not left:
        return "all their copies are there"
    return f"all their copies but the last {counted(left, 'batch')} are there"


def _count_of_sums(step):
    return len(next(iter(step.values.values())))


def _by_others(step, warp):
    """Which warps wrote what the lanes load, if not all of it is their own."""
    warps = sorted({thread // 32 for thread in step.writers.values()})
    if warps in ([], [warp]):
        return ""
    return f"; {runs('warp', warps)} wrote it"


def _name_of_values(step):
    if step.op == "mma_sync":
        return "sums"
    return "gives" if step.taken else "values"


def _whose(sources):
    if len(set(sources.values())) == 1:
        return f"of lane {next(iter(sources.values()))}"
    further = {source - lane for lane, source in sources.items() if source != lane}
    if len(further) != 1:
        return "of another lane"
    (distance,) = further
    return f"of the lane {abs(distance)} further {'up' if distance > 0 else 'down'}"


def _cost(step):
    if step.space == "global":
        return f": {counted(step.cost, 'sector')}"
    return f": {counted(step.cost, 'wavefront')}" if step.space == "shared" else ""


def _elements(step):
    return {lane: byte // step.element_bytes for lane, byte in step.bytes_of.items()}


def _in_sectors(step):
    return f"sectors: {', '.join(map(str, sectors(step)))}"


def _in_banks(step):
    banks = cells_of_banks(step)
    busy = [f"bank {bank} has {len(banks[bank])}" for bank in sorted(banks) if len(banks[bank]) > 1]
    return f"cells for the banks: {', '.join(busy)}" if busy else "at most one cell for each bank"


def _numbers(values):
    return {lane: " ".join(map(short, numbers)) for lane, numbers in values.items()}


_PLACES = {"global": _in_sectors, "shared": _in_banks}
