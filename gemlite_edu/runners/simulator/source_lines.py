"""Find the lines and functions of a kernel's text in its library."""

import re
import subprocess

# Functions that copy a struct: they carry the struct's line, but the copying line is to blame.
_COPY = re.compile(r"\b(\w+)::(?:\1|operator=)\(")


def run_tool(program, *arguments, text=None):
    """What the program writes to its stdout."""
    return subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, check=True, input=text
    ).stdout


def lines_of(library, sites, shim):
    """The "file:line" of each site, in the innermost function that is not the simulator's own."""
    return [frames[0][1] if frames else "" for frames in frames_of(library, sites, shim)]


def lines_and_calls_of(library, sites, shim):
    """`lines_of`, and for each site the places of all inlined calls that lead to it.

    They differ where the line is in a function that is called twice.
    """
    frames = _frames_of(library, sites, shim)
    lines = [_line(own[0][1]) if own else "" for own in frames]
    return lines, [tuple(place for _, place in own) for own in frames]


def frames_of(library, sites, shim):
    """The functions around each site that are not the simulator's own, as (name, "file:line").

    The innermost comes first; the last is no inlined one. sites: return addresses of calls in the
    library; the line of a call is that of the byte before. shim: the folder of the simulator's own
    headers.
    """
    return [
        [(_short(name), _line(place)) for name, place in frames]
        for frames in _frames_of(library, sites, shim)
    ]


def _frames_of(library, sites, shim):
    """Of each site [(name, place)], both as addr2line prints them."""
    addresses = "".join(f"{site - 1:x}\n" for site in sites)
    answer = run_tool("addr2line", "-i", "-f", "-C", "-a", "-e", library, text=addresses)
    found = []
    for frames in re.split(r"^0x[0-9a-f]+\n", answer, flags=re.MULTILINE)[1:]:
        names, places = frames.splitlines()[::2], frames.splitlines()[1::2]
        own = [
            (name, place)
            for name, place in zip(names, places, strict=True)
            if not (place.startswith(str(shim)) or _COPY.search(name))
        ]
        found.append(own)
    return found


def _short(name):
    """
    >>> _short("void for_own<f(int)::{lambda(int)#1}>(int)"), _short("n::turn(x<int> const*, int)")
    ('for_own', 'turn')
    """
    found = re.match(r"(?:.*? )??([\w:~]+)(?=[(<]|$)", name)
    return found[1].rpartition("::")[2] if found else name


def _line(place):
    """
    >>> _line("/tmp/kernel.cpp:7 (discriminator 2)")
    'kernel.cpp:7'
    """
    file, _, line = place.partition(" (discriminator")[0].rpartition(":")
    return f"{file.rpartition('/')[2]}:{line}" if file else ""
