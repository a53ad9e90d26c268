"""`play`: the steps of one warp as a picture that moves."""

from dataclasses import dataclass

from gemlite_lab.draw.frames import frame_of
from gemlite_lab.draw.player_page import page
from gemlite_lab.draw.step_words import details, heading

MOST_BYTES = 150_000
_CONTEXT = 1  # lines of the kernel around each that a step runs
_GAP = "⋯"


@dataclass(frozen=True)
class Player:
    """A scene, which Jupyter shows as a picture with a slider. html: it needs nothing else."""

    title: str
    steps: int
    html: str

    def __repr__(self):
        return f"Player({self.title!r}, {self.steps} steps)"

    def _repr_html_(self):
        return self.html


def play(report):
    """The steps that `report` has recorded, one picture for each, with a slider, buttons and keys.

    report: from `inspect` with `window=Window(...)`. The 32 lanes of the warp are in a row: what
    each reads, writes or hands over, the sectors or banks that it reaches, and the line of the
    kernel. A step with a fault says what is wrong there. All steps follow as text.
    Raises ValueError if nothing was recorded, or if the scene would be larger than 150 kB.
    """
    record = getattr(report, "record", None)
    if record is None:
        raise ValueError(
            "play takes a report that has recorded steps: call inspect with window=Window()"
        )
    if not record.steps:
        raise ValueError(
            f"warp {record.window.warp} made {record.total} steps, and the window begins at step "
            f"{record.window.first}: choose a smaller first"
        )
    html = _page(report, record)
    size = len(html.encode())
    if size > MOST_BYTES:
        fit = len(record.steps) * MOST_BYTES // size
        raise ValueError(
            f"a scene of {len(record.steps)} steps takes {size:,} bytes here, more than "
            f"{MOST_BYTES:,}: record fewer, about {fit * 9 // 10}, as in "
            f"window=Window(steps={fit * 9 // 10})"
        )
    return Player(_title(record), len(record.steps), html)


def _title(record):
    at = record.window
    return f"{record.title}: block {at.block}, warp {at.warp}"


def _page(report, record):
    steps = record.steps
    places, code = _code(record)
    return page(
        title=_title(record),
        steps=steps,
        frames=[frame_of(step, record.window.warp) for step in steps],
        headings=[_heading(step, record) for step in steps],
        details=[details(step) for step in steps],
        code=code,
        lines_of=[_lines_of(step, places) for step in steps],
        note=_note(report, record),
    )


def _heading(step, record):
    first, last = record.steps[0].number, record.steps[-1].number
    has_phases = any(each.op == "barrier" for each in record.steps)
    phase = f", phase {step.phase + 1}" * has_phases
    return f"Step {step.number} ({first}–{last}){phase}: {heading(step, record.window.warp)}"


def _note(report, record):
    """Where a fault is that no frame shows."""
    if any(step.faults for step in record.steps):
        return ""
    if record.first_fault is not None:
        at = record.first_fault
        return f"The first fault of this warp is at step {at}: Window(first={max(at - 10, 0)})."
    if report.findings:
        return f"Another warp is at fault: {report.findings[0].sentence}."
    return ""


def _lines_of(step, places):
    """Where the excerpt has the step's line, then those that call its function."""
    calling = [place for _, place in step.calls if place != step.place]
    return [places[place] for place in (step.place, *calling) if place in places]


def _code(record):
    """({place: its line in the excerpt}, [(number, text)]) of lines at and around the steps."""
    every, used = list(record.lines), {step.place for step in record.steps}
    calling = {place for step in record.steps for _, place in step.calls}
    wanted = {i for i, place in enumerate(every) if place in calling} | {
        near
        for i, place in enumerate(every)
        if place in used
        for near in range(i - _CONTEXT, i + _CONTEXT + 1)
        if 0 <= near < len(every)
    }
    places, code, before = {}, [], None
    for i in sorted(wanted):
        file, _, number = every[i].rpartition(":")
        if file != (before and every[before].rpartition(":")[0]):
            code.append(("", file))
        elif before != i - 1:
            code.append(("", _GAP))
        places[every[i]], before = len(code), i
        code.append((number, record.lines[every[i]]))
    return places, code
