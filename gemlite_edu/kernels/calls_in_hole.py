"""Trace a line that the learner did not write to the learner's lines that call it.

The learner's text fills a hole of the kernel, but its error may show in a line around the hole.
"""

import re
from functools import lru_cache

from gemlite_edu.kernels.local_pointers import may_point_to_locals

_WHOLE_TEXT = "kernel.cpp"  # without a directive: a text that is not the package's
_DIRECTIVE = re.compile(r'\s*#\s*line (\d+)(?: "(.*)")?')
_REPLACED_HOLE = re.compile(r'^// BEGIN HOLE (\w+)\n#line 1 "\1"$', re.MULTILINE)
# Matches the first line of a function definition, which is not indented and has no semicolon.
_DEFINITION = re.compile(r"(?=\w)[\w:<>*&, ]*?(?<!\w)(?!__)(\w+)\([^;=]*(?:\{.*)?$")
_CALL = re.compile(r"\b(\w+)\s*\(")


def lines_by_place(source):
    """{"file:line": text} of an expanded kernel, following its #line directives."""
    found, file, number = {}, _WHOLE_TEXT, 0
    for line in source.split("\n"):
        directive = _DIRECTIVE.match(line)
        if directive:
            number, file = int(directive[1]) - 1, (directive[2] or file).rpartition("/")[2]
        else:
            number += 1
            found[f"{file}:{number}"] = line
    return found


def lead_to_own_line(place, source):
    """A hint for an error at a "file:line" outside the replaced holes.

    Returns "" if the line is inside a replaced hole, or if no hole is replaced.
    source: the expanded kernel.
    """
    holes = _REPLACED_HOLE.findall(source)
    file = place.rpartition(":")[0]
    if not holes or not file or file in holes:
        return ""
    calls = _own_calls(place, lines_by_place(source), holes)
    if not calls:
        return f"That line is not yours: look for the cause in your {' and '.join(holes)}."
    where = "here" if len(calls) == 1 else "in these lines, one of which did it"
    return "\n".join([f"That line is not yours. Your text calls its function {where}:", *calls])


def reached_by_own_lines(places, source):
    """Those of the "file:line"s that are in the replaced holes, or in functions that these call.

    All of them if the learner wrote the whole text, and none if that points to no local variable.
    source: the expanded kernel.
    """
    holes, lines = _REPLACED_HOLE.findall(source), lines_by_place(source)
    own_files = (*holes, _WHOLE_TEXT)
    own = [line for at, line in lines.items() if at.rpartition(":")[0] in own_files]
    if not may_point_to_locals("\n".join(own)):
        return []
    function_at = _functions(lines)
    reached, calls = set(), set().union(*map(_called, own))
    while not calls <= reached:
        reached |= calls
        reaching_on = (line for at, line in lines.items() if function_at[at] in reached)
        calls = set().union(*map(_called, reaching_on))
    return [
        place
        for place in places
        if place.rpartition(":")[0] in own_files or function_at.get(place) in reached
    ]


def _own_calls(place, lines, holes):
    """The lines in replaced holes that call the function at `place`, directly or indirectly."""
    function_at = _functions(lines)
    reaching = {function_at.get(place)} - {None}
    around = {at: line for at, line in lines.items() if at.rpartition(":")[0] not in holes}
    while reaching:
        callers = {function_at.get(at) for at, line in around.items() if _called(line) & reaching}
        if callers <= reaching | {None}:
            break
        reaching |= callers - {None}
    own = {at: line for at, line in lines.items() if at not in around}
    return [
        f"    {at.replace(':', ', line ')}: {line.strip()}"
        for at, line in own.items()
        if _called(line) & reaching
    ]


def _functions(lines):
    """{place: name of the function that contains it}"""
    found, name = {}, None
    for place, line in lines.items():
        definition = _DEFINITION.match(line)
        if definition:
            name = definition[1]
        found[place] = name
        if line.startswith("}") or (definition and line.rstrip().endswith("}")):
            name = None
    return found


@lru_cache(10_000)
def _called(line):
    """The names before an opening parenthesis."""
    return frozenset(_CALL.findall(line.partition("//")[0]))
