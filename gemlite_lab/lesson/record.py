"""Records which exercises the learner has solved or given up, and from which rung.

The record is the file $GEMLITE_EDU_PROGRESS, or work/progress.json in the workbook that contains
the current folder, with rungs.json beside it; outside a workbook nothing is recorded.
"""

import json
import os
from pathlib import Path

SOLVED, GIVEN_UP = "solved", "given up"


def workbook():
    """The folder of the workbook that contains the current folder, or None."""
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / "exercises").is_dir() and (folder / "notebooks").is_dir():
            return folder
    return None


def states():
    """{exercise name: SOLVED or GIVEN_UP}."""
    return _read(_path())


def record(name, state):
    """Record the `state` of exercise `name`; False if there is no workbook to record it in.

    A solved exercise stays solved.
    """
    path, known = _path(), states()
    if path is not None and known.get(name) != SOLVED:
        _write(path, known | {name: state})
    return path is not None


def rungs():
    """{exercise name: the rung that was last taken for it, before it was solved}."""
    return _read(place_beside("rungs.json"))


def record_rung(name, which):
    """Record that the learner takes the rung `which` of exercise `name`, unless it is solved."""
    path = place_beside("rungs.json")
    if path is not None and states().get(name) != SOLVED:
        _write(path, rungs() | {name: which})


def place_beside(name):
    """The path of the learner's file `name` beside the record; None outside a workbook."""
    path = _path()
    return path.with_name(name) if path else None


def _path():
    chosen = os.environ.get("GEMLITE_EDU_PROGRESS")
    if chosen:
        return Path(chosen)
    folder = workbook()
    return folder / "work" / "progress.json" if folder else None


def _read(path):
    if path is None or not path.exists():
        return {}
    try:
        return dict(json.loads(path.read_text()))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({error}): rename it to start afresh") from None


def _write(path, entries):
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(entries, indent=1))
    unfinished.replace(path)
