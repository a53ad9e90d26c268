"""A picture of the steps that block 0 of a GEMM copies, decodes and multiplies between barriers."""

from gemlite_lab.draw.canvas import IDLE, INK, NEIGHBOURS, SUM, box, canvas, display_png

_STORES_OF_A_LOAD = 4  # 16 bytes of codes are decoded to 64
_ROWS = ("copy begins", "decoded", "multiplied", "written")


def steps(report):
    """The steps of `gemm_a8w2_wmma` that block 0 works on from barrier to barrier.

    report: from `inspect`, with M, N and K whole blocks and steps. The requests of its phases
    reveal the steps: a copy is a global load and a shared store, a decoded piece is a shared load
    and four stores, and all other shared loads are of fragments. Pieces decoded beyond the last
    step are unused. Raises ValueError if the requests do not fit this.
    """
    phases = [_Phase(phase) for phase in report.phases]
    count = _units("multiplied", phases)
    named = {"copy begins": _named(phases, "copied", count)}
    named["multiplied"] = _named(phases, "multiplied", count)
    decoded = _named(phases, "decoded", _units("decoded", phases))
    named["decoded"] = [
        ["unused" if step >= count else step for step in of_phase] for of_phase in decoded
    ]
    named["written"] = [phase.written for phase in phases]
    _print_table(named, report)
    _draw(named, report, count)


class _Phase:
    """The requests of one phase, summed over the warps, by purpose."""

    def __init__(self, phase):
        loads, global_stores, shared_loads, shared_stores = map(
            sum, zip(*phase.requests, strict=True)
        )
        is_of_y = not loads and (global_stores or not shared_loads)
        self.written = ["y" if global_stores else "sums"] if is_of_y else []
        self.copied = loads
        self.decoded = 0 if is_of_y else shared_stores - loads
        self.multiplied = 0 if is_of_y else shared_loads - self.decoded // _STORES_OF_A_LOAD
        if self.decoded % _STORES_OF_A_LOAD or self.decoded < 0 or self.multiplied < 0:
            raise _unclear(phase.place)


def _unclear(what):
    return ValueError(f"the requests of {what} are not those of whole steps")


def _units(kind, phases):
    """The number of steps: all requests of a kind over the fewest in a phase that has any."""
    requests = [getattr(phase, kind) for phase in phases]
    fewest = min((number for number in requests if number), default=0)
    if not fewest or any(number % fewest for number in requests):
        raise _unclear(f"what is {kind}")
    return sum(requests) // fewest


def _named(phases, kind, count):
    """The numbers of the steps in each phase, `count` in all."""
    requests = [getattr(phase, kind) for phase in phases]
    each, rest = divmod(sum(requests), count)
    if rest or any(number % each for number in requests):
        raise _unclear(f"what is {kind}")
    found, step = [], 0
    for number in requests:
        found.append([*range(step, step + number // each)])
        step += number // each
    return found


def _print_table(named, report):
    print("block 0 from barrier to barrier, its steps along K")
    print("phase  " + "".join(f"{kind:<16}" for kind in _ROWS) + "ends at")
    for number, phase in enumerate(report.phases):
        cells = [", ".join(map(_label, named[kind][number])) or "-" for kind in _ROWS]
        place = f"a barrier, {phase.place}" if phase.place else "the end of the kernel"
        print(f"{number + 1:>5}  " + "".join(f"{cell:<16}" for cell in cells) + place)


def _label(what):
    return f"step {what}" if isinstance(what, int) else what


def _draw(named, report, count):
    phases = len(report.phases)
    figure, axes = canvas(10, 1.1 + 0.4 * len(_ROWS))
    for row, kind in enumerate(_ROWS):
        for phase, listed in enumerate(named[kind]):
            for place, what in enumerate(listed):
                is_step = isinstance(what, int)
                color = IDLE if what == "unused" else SUM
                color = NEIGHBOURS[what % len(NEIGHBOURS)] if is_step else color
                width = 1 / len(listed)
                label = _label(what) if phases * len(listed) <= 20 or not is_step else f"{what}"
                box(axes, phase + place * width, row, width, color, label)
    axes.vlines(range(1, phases), 0, len(_ROWS), color=INK, linewidth=1)
    axes.set(xlim=(0, phases), ylim=(len(_ROWS), 0))
    axes.set_xlabel("phases, from barrier to barrier; not time")
    axes.set_xticks([phase + 0.5 for phase in range(phases)], range(1, phases + 1))
    axes.set_yticks([row + 0.5 for row in range(len(_ROWS))], _ROWS)
    axes.tick_params(length=0)
    what = f"{count} steps of block 0 are copied, decoded and multiplied"
    display_png(figure, f"In which of {phases} phases the {what}")
