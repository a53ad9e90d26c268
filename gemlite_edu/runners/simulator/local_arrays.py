"""Find out by a second build whether a run reaches beyond a local variable through a pointer."""

import re

from gemlite_edu.kernels.calls_in_hole import reached_by_own_lines
from gemlite_edu.runners.simulator.build import SHIM, build_with_guarded_locals
from gemlite_edu.runners.simulator.dependence import with_own_outputs
from gemlite_edu.runners.simulator.positions import where
from gemlite_edu.runners.simulator.run import run_once
from gemlite_edu.runners.simulator.source_lines import lines_of


def overrun_local(library, raw, source, arguments, launch, time_limit):
    """("file:line", a sentence) if the run reaches beyond a local variable, else None.

    raw: the runner's report on `library`, which has run with these arguments and has ended. It says
    where threads reached their own stack, and how what is undefined ended it. source: the text;
    only what the learner's part of it reaches is looked into.
    """
    if "\nundefined " in raw:
        return None
    places = (library.parent / "lines.txt").read_text().splitlines()
    sites = [int(site) for site in re.findall(r"^own (\d+)$", raw, re.MULTILINE)]
    if not reached_by_own_lines({places[site] for site in sites if site < len(places)}, source):
        return None
    guarded = build_with_guarded_locals(library)
    own = with_own_outputs(arguments)
    status, _ = run_once(guarded, own, launch, time_limit, 1, "locals")
    word, *fields = status.split(" ")
    if word not in ("local", "unused"):
        return None
    instruction, *position = fields[:4]
    (place,) = lines_of(guarded, [int(instruction, 16)], SHIM)
    return place, f"{where(*position)} {_what_it_does(*fields[4:])}"


def _what_it_does(name=None, byte=None, size=None, writes=None):
    """In words. Without a name: what the runner calls unused."""
    if name is None:
        return (
            "reaches local memory that no variable has: look for a pointer far before its array, "
            "and for one to a variable of a function that has ended"
        )
    return (
        f"{'writes' if writes == '1' else 'reads'} byte {byte} of {name}, a local variable whose "
        f"bytes go from 0 to {int(size) - 1}: keep the pointer inside it"
    )
