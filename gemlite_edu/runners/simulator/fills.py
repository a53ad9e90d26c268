"""Local variables that may be read before anything is written to them.

From g++ 12 on, the compiler fills every local variable where it is declared, and removes the fills
that are overwritten before any read. A kernel may read the others: then a second build fills them
otherwise, and both must give the same.
"""

import json
import re
import subprocess
from functools import cache

_FILL = "-ftrivial-auto-var-init="
_FIRST, _SECOND = f"{_FILL}pattern", f"{_FILL}zero"
_FUNCTION = re.compile(r"^;; Function (\w+|.+?)[^\n]* \(\S+, funcdef_no=", re.MULTILINE)
_STAYS = re.compile(r'\[([^\]\s]*):(\d+):\d+\] (\S+) = \.DEFERRED_INIT \((\d+), [^\n]*&"(\w+)"')
# The instruments keep the compiler from seeing that it writes all of a variable.
_COPIED = re.compile(r"\bmem(?:cpy|move|set) \((?:\[\S+\] )?&(\w+), .*, (\d+)\)")
_OF_PACKAGE = (".cuh", ".cu", ".h")


@cache
def flags_to_fill(compiler):
    """The flags that fill local variables, if the compiler knows them.

    What a function returns is then a variable of its own, or else it would get no fill. The
    compiler warns of no variable that may be read, because a right kernel may pass such a value on
    to a shuffle, from which it takes another lane's.
    """
    command = [compiler, _FIRST, "-E", "-x", "c++", "/dev/null"]
    knows = subprocess.run(command, capture_output=True).returncode == 0
    fills = [_FIRST, "-fno-elide-constructors"]
    return [*fills, "-Wno-uninitialized", "-Wno-maybe-uninitialized"] if knows else []


def with_other_fill(flags):
    """The flags of a build that fills otherwise."""
    return [_SECOND if flag == _FIRST else flag for flag in flags]


def is_fill(flag):
    """True for the flag that says how to fill."""
    return flag.startswith(_FILL)


def flag_to_list(folder):
    """The flag that makes the compiler write down what is left of the fills."""
    return f"-fdump-tree-optimized-lineno={folder / 'optimized.txt'}"


def keep_list(folder, flags):
    """Keep of the compiler's list only the variables of the kernel's own text.

    flags: those of the build, which name the kernel.
    """
    listed = folder / "optimized.txt"
    kernel = next(flag for flag in flags if flag.startswith("-DKERNEL=")).partition("=")[2]
    text = _reached(listed.read_text(), kernel)
    copied = set(_COPIED.findall(text))
    found = {
        (file.rpartition("/")[2], int(line), name)
        for file, line, target, size, name in _STAYS.findall(text)
        if not file.endswith(_OF_PACKAGE) and (target, size) not in copied
    }
    listed.unlink()
    (folder / "fills.json").write_text(json.dumps(sorted(found)))


def _reached(dump, kernel):
    """The part of the compiler's list on the kernel and on the functions that it still calls."""
    _, *parts = _FUNCTION.split(dump)
    unreached = list(zip(parts[::2], parts[1::2], strict=True))
    found, new = "", [part for part in unreached if part[0] == kernel]
    while new:
        unreached = [part for part in unreached if part not in new]
        text = "".join(body for _, body in new)
        found += text
        new = [part for part in unreached if _mentions(text, part[0])]
    return found


def _mentions(text, name):
    return name in text and bool(re.search(rf"\b{re.escape(name)}\b", text))


def fills_left(library):
    """[(file, line, name)] of the variables whose fill may be read."""
    return json.loads((library.parent / "fills.json").read_text())
