"""A picture of block 0 between its barriers."""

from gemlite_lab.draw.canvas import (
    GLOBAL,
    GLOBAL_STORE,
    IDLE,
    INK,
    SHARED,
    SHARED_STORE,
    canvas,
    counted,
    display_png,
    legend,
    rectangle,
    write,
)

# {kind: its index in Phase.requests, and its colour}, in the order in which data moves.
_KINDS = {
    "global loads": (0, GLOBAL),
    "shared stores": (3, SHARED_STORE),
    "shared loads": (2, SHARED),
    "global stores": (1, GLOBAL_STORE),
}
_GAP = 0.5  # between phases, in columns
_PHASE_WIDTH = len(_KINDS) + _GAP
_MOST_WITH_NUMBERS = 8  # phases
_MOST_WARPS = 8
_LABEL_ROWS = 2
_LABEL_HEIGHT = 0.7  # in warps
_CHARACTERS = 125  # of labels, along the axis


def timeline(report):
    """The requests of block 0's warps from barrier to barrier, at most 8 warps.

    Each phase is a table: a row for each warp, a column for each kind of request. The order of the
    phases is that of the run; nothing shows an order within a phase. Raises ValueError if block 0
    made no requests.
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
    figure, axes = canvas(10, 1.0 + 0.27 * (shown + labels))
    barriers = []
    for number, phase in enumerate(phases):
        start = number * _PHASE_WIDTH
        for warp, counts in enumerate(phase.requests[:shown]):
            _draw_warp(axes, warp, start + _GAP / 2, counts, len(phases) <= _MOST_WITH_NUMBERS)
        if number:
            barriers.append((start, phases[number - 1].place))
    total = len(phases) * _PHASE_WIDTH
    _draw_barriers(axes, barriers, total, shown)
    axes.set(xlim=(0, total), ylim=(shown - 0.5, -0.5 - labels), ylabel="warp")
    axes.set_yticks(range(shown))
    middles = [(number + 0.5) * _PHASE_WIDTH for number in range(len(phases))]
    names = [f"phase {number}" if len(phases) < 10 else "" for number in range(1, len(phases) + 1)]
    axes.set_xticks(middles, names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    handles = [rectangle(0, 0, 1, 1, color, label=kind) for kind, (_, color) in _KINDS.items()]
    legend(figure, [*handles, rectangle(0, 0, 1, 1, IDLE, label="no request")])
    what = f"{counted(shown, 'warp')} of block 0 in {counted(len(phases), 'phase')}"
    display_png(figure, f"Requests of {what}, from barrier to barrier")


def _draw_warp(axes, warp, start, counts, with_numbers):
    """One cell for each kind of request."""
    for column, (i, color) in enumerate(_KINDS.values()):
        axes.add_patch(rectangle(start + column, warp - 0.4, 1, 0.8, color if counts[i] else IDLE))
        if counts[i] and with_numbers:
            axes.text(start + column + 0.5, warp, counts[i], ha="center", va="center", fontsize=8)


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
            write(axes, at, top, f" {place} ", fontsize=8, ha=side, va="top")
            taken = [max(end, at) for end in taken]
            taken[rows[-1]] = begin + width
            labelled.add(place)
        axes.vlines(at, top, shown - 0.5, color=INK, linewidth=1)
