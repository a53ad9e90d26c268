"""Pictures of the memory requests of an inspected kernel."""

from gemlite_lab.draw.canvas import counted
from gemlite_lab.draw.requests import BankPicture, SectorPicture, draw_pictures


def show(report):
    """Print the table of a `Report` that `Kernel.inspect` returned."""
    print(report)


def request(report, name, op="load", which="first"):
    """One request of a warp for the tensor or shared array `name`.

    Global memory: the lanes above the sectors of 32 bytes that they touch. Shared memory: the
    cells of 4 bytes that each bank delivers, wavefront by wavefront.
    op: "load" or "store". which: "first", at the earliest line in the text, or "costliest", with
    the most sectors or wavefronts. Raises ValueError if `report` has no such request.
    """
    line, chosen = _choose(report, name, op, which)
    picture = _picture(line, chosen)
    print(f"{line.place}: {line.code}")
    print(
        f"{which} {op} of {name}: block {chosen.block}, warp {chosen.warp}, "
        f"{len(chosen.bytes_of)} of 32 lanes active, {line.bytes_per_lane} bytes each"
    )
    print(picture)
    title = f"{which} {op} of {name}: {picture.title}"
    draw_pictures([picture], [title], f"{title}. {picture.alternative_text}")


def side_by_side(reports, name, op="load", which="first"):
    """The same request in 2 or 3 kernels, one above the other at one scale; see `request`.

    reports: {label: Report}. For each it prints the requests for `name`, with their sectors and
    bytes moved, or their wavefronts. Raises ValueError for another number of reports, if a report
    has no such request, or if `name` is in global memory in one and in shared memory in another.
    """
    if not 2 <= len(reports) <= 3:
        raise ValueError(f"reports must be 2 or 3, as {{label: report}}, got {len(reports)}")
    chosen = {label: _choose(report, name, op, which) for label, report in reports.items()}
    if len({line.space for line, _ in chosen.values()}) > 1:
        raise ValueError(
            f"{name} is in global memory in one report and in shared memory in another"
        )
    for label, (line, _) in chosen.items():
        print(f"{label}: {_totals(reports[label], line)}")
    pictures = [_picture(*pair) for pair in chosen.values()]
    titles = [f"{label}: {picture.title}" for label, picture in zip(chosen, pictures, strict=True)]
    draw_pictures(pictures, titles, f"{which} {op} of {name}: {', '.join(titles)}")


def _choose(report, name, op, which):
    """(MemoryLine, Request)"""
    if which not in ("first", "costliest"):
        raise ValueError(f"which must be 'first' or 'costliest', got {which!r}")
    lines = report.of(name, op)
    if which == "first":
        return lines[0], lines[0].first
    line = max(lines, key=lambda line: line.costliest.cost)
    return line, line.costliest


def _picture(line, request):
    if line.space == "global":
        return SectorPicture(request.bytes_of, line.bytes_per_lane)
    return BankPicture(request.bytes_of, line.bytes_per_lane, writes=line.op == "store")


def _totals(report, line):
    """The totals of all lines of the report that access the same memory as `line`."""
    lines = [other for other in report.of(line.name, line.op) if other.space == line.space]
    requests, cost = sum(other.requests for other in lines), sum(other.cost for other in lines)
    unit, total = "wavefronts", f"{cost:,} wavefronts"
    if line.space == "global":
        unit, total = "sectors", f"{sum(other.bytes_moved for other in lines):,} bytes moved"
    return (
        f"{counted(requests, 'request')} to {line.op} {line.name}, "
        f"{cost / requests:.2f} {unit} each, {total}"
    )
