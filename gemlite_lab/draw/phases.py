"""A picture of block 0 between its barriers."""

from gemlite_lab.draw.canvas import COLORS, canvas, counted, display_png, legend, rectangle

# {kind: its index in Phase.requests, and its colour}, in the order in which data moves.
_KINDS = {
    "global loads": (0, COLORS[0]),
    "shared stores": (3, COLORS[5]),
    "shared loads": (2, COLORS[1]),
    "global stores": (1, COLORS[4]),
}
_MOST_WARPS = 8
_LABEL_ROWS = 2
_LABEL_HEIGHT = 0.7  # in warps
_CHARACTERS = 125  # of a label, along the axis


def timeline(report):
    """The requests of block 0's warps from barrier to barrier, at most 8 warps.

    The axis counts a warp's requests, not time; within a phase they are sorted by kind. At a
    barrier every warp waits for the warp with the most requests. Raises ValueError if block 0 made
    no requests.
    """
    if not any(map(sum, (counts for phase in report.phases for counts in phase.requests))):
        raise ValueError("block 0 made no request: there is nothing to draw")
    warps = len(report.phases[0].requests)
    shown = min(warps, _MOST_WARPS)
    _print_table(report, warps)
    if shown < warps:
        print(f"The picture shows warps 0 to {shown - 1} of {warps}.")

    _draw(report.phases, shown)


def _print_table(report, warps):
    print(f"block 0, requests added over its {counted(warps, 'warp')}")
    print("phase  " + "  ".join(f"{kind:>13}" for kind in _KINDS) + "  warps active  ends at")
    last = "the end of the kernel" if report.y is not None else "where the run was stopped"
    for number, phase in enumerate(report.phases, 1):
        added = [sum(counts[i] for counts in phase.requests) for i, _ in _KINDS.values()]
        totals = "  ".join(f"{total:>13,}" for total in added)
        active = sum(any(counts) for counts in phase.requests)
        place = f"a barrier, {phase.place}" if phase.place else last
        print(f"{number:>5}  {totals}  {active:>12}  {place}")


def _draw(phases, shown):
    labels = _LABEL_HEIGHT * _LABEL_ROWS * (len(phases) > 1)
    figure, axes = canvas(10, 1.2 + 0.25 * (shown + labels))
    start, barriers = 0, []
    for number, phase in enumerate(phases, 1):
        end = start + max(map(sum, phase.requests))
        for warp, counts in enumerate(phase.requests[:shown]):
            _draw_warp(axes, warp, start, counts)
            if number < len(phases):
                axes.add_patch(_waiting(start + sum(counts), warp - 0.4, end - start - sum(counts)))
        if number < len(phases):
            barriers.append((end, phase.place))
        start = end
    _draw_barriers(axes, barriers, start, shown)
    top = -0.5 - labels
    axes.set(xlim=(0, start), ylim=(shown - 0.5, top), yticks=range(shown), ylabel="warp")
    axes.set_xlabel("requests of a warp; not time")
    axes.spines[["top", "right"]].set_visible(False)
    handles = [rectangle(0, 0, 1, 1, color, label=kind) for kind, (_, color) in _KINDS.items()]
    legend(figure, [*handles, _waiting(0, 0, 1, label="waits")])
    what = f"{counted(shown, 'warp')} of block 0 in {counted(len(phases), 'phase')}"
    display_png(figure, f"Requests of {what}, from barrier to barrier")


def _draw_warp(axes, warp, start, counts):
    for i, color in _KINDS.values():
        axes.add_patch(rectangle(start, warp - 0.4, counts[i], 0.8, color, edge="none"))
        start += counts[i]


def _waiting(x, y, width, label=None):
    waiting = rectangle(x, y, width, 0.8, "#F2F2F2", edge="#AAAAAA", label=label)
    waiting.set(hatch="////", linewidth=0)
    return waiting


def _draw_barriers(axes, barriers, total, shown):
    """Draw a line at each barrier, and label the first one at a place if two rows have room."""
    taken, labelled = [0.0] * _LABEL_ROWS, set()  # how far each row is taken, from warp 0 up
    for at, place in barriers:
        width = len(place) * total / _CHARACTERS
        is_left = at + width > total
        begin = at - width if is_left else at
        rows = [row for row in range(_LABEL_ROWS) if begin >= max(taken[: row + 1])]
        top = -0.5
        if rows and place not in labelled:
            top -= _LABEL_HEIGHT * (rows[-1] + 1)
            side = "right" if is_left else "left"
            axes.text(at, top, f" {place} ", fontsize=8, ha=side, va="top")
            taken = [max(end, at) for end in taken]
            taken[rows[-1]] = begin + width
            labelled.add(place)
        axes.vlines(at, top, shown - 0.5, color="black", linewidth=1)
