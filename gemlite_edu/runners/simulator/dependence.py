"""Find out by a second build whether a run depends on a local variable that nothing wrote."""

import re

import torch

from gemlite_edu.runners.simulator.arguments import Tensor
from gemlite_edu.runners.simulator.build import build_with_other_fill
from gemlite_edu.runners.simulator.fills import fills_left
from gemlite_edu.runners.simulator.run import run_once

_ADDRESS = re.compile(r"0x[0-9a-f]+")


def unwritten_local(library, raw, arguments, launch, time_limit):
    """("file:line", a sentence) if the run depends on what was in a local variable, else None.

    raw: the runner's report on `library`, which has run with these arguments and has ended.
    """
    left = fills_left(library)
    if not left:
        return None
    args = (arguments, launch, time_limit)
    other = build_with_other_fill(library)
    if _what_came(other, *args) == (_summary(raw), _outputs(arguments)):
        return None
    first, again, last = (_what_came(build, *args) for build in (library, library, other))
    if first != again or first == last:  # it depends on something else too, or on that alone
        return None
    (file, line, _), names = left[0], " or ".join(dict.fromkeys(name for *_, name in left))
    return f"{file}:{line}", (
        f"the kernel reads {names}, a local variable to which nothing was written before, and what "
        "it does depends on what happens to be there: give it a value where you declare it"
    )


def _what_came(library, arguments, launch, time_limit):
    own = with_own_outputs(arguments)
    raw, _ = run_once(library, own, launch, time_limit, 1, library.parent / "sites.txt")
    return _summary(raw), _outputs(own)


def with_own_outputs(arguments):
    """The arguments with copies of the outputs, for a run whose outputs nobody wants."""
    return [_with_own_output(argument) for argument in arguments]


def _with_own_output(argument):
    if isinstance(argument, Tensor) and argument.is_output:
        return Tensor(argument.name, argument.value.clone(), is_output=True)
    return argument


def _summary(raw):
    """The kinds of what was found, and how the run ended, without addresses."""
    *rows, status = raw.splitlines()
    kinds = {tuple(row.split()[:3]) for row in rows if row.startswith("finding ")}
    return kinds, _ADDRESS.sub("", status)


def _outputs(arguments):
    found = [a.value for a in arguments if isinstance(a, Tensor) and a.is_output]
    return [value.reshape(-1).view(torch.uint8).numpy().tobytes() for value in found]
