"""Find the static and __device__ variables of a kernel's library, which all its threads share."""

import re
import subprocess
from pathlib import Path

from gemlite_edu.kernels.errors import KernelTextError

_WRITABLE_SECTION = re.compile(r"^\s+\[\s*(\d+)\].* WA? +\d+ +\d+ +\d+$", re.MULTILINE)
_OBJECT = re.compile(
    r"([0-9a-f]+)\s+(\d+|0x[0-9a-f]+)\s+OBJECT\s+\w+\s+\w+\s+(\d+)\s+(\S+)$", re.MULTILINE
)
# What runs once, for a variable of a function and for those outside of functions.
_INITIALISER = re.compile(
    r"\s(?:callq?|bl)\s+__cxa_guard_acquire\b(.*?)\s(?:callq?|bl)\s+__cxa_guard_release\b"
    r"|^_GLOBAL__sub_I_[\w.]+:\n(.*?)\.cfi_endproc",
    re.MULTILINE | re.DOTALL,
)
_WRITE = re.compile(r"\s(?:callq?|bl)\s+__tsan_(?:unaligned_)?write")
_FILE = re.compile(r'^\s+\.file (\d+) (?:"[^"]*" )?"([^"]*)"', re.MULTILINE)
_PLACE = re.compile(r"^\s+\.loc (\d+) (\d+)", re.MULTILINE)
_OF_COMPILER = re.compile(r"__dso_handle|__TMC_END__|completed\.|_ZGV")


def variables_of(symbols):
    """(offset in the library, bytes, name) of each, by offset.

    symbols: what readelf says of the library's sections and symbols.
    """
    sections = set(_WRITABLE_SECTION.findall(symbols))
    found = {
        (int(value, 16), int(size, 0), name)
        for value, size, section, name in _OBJECT.findall(symbols)
        if section in sections and int(size, 0) and not _OF_COMPILER.match(name)
    }
    names = demangled([name for *_, name in sorted(found)])
    return [
        (at, size, name.rpartition("::")[2])
        for (at, size, _), name in zip(sorted(found), names, strict=True)
    ]


def check_initialisers(assembly, shim):
    """Raises KernelTextError if a variable gets its first value by code, which CUDA has not.

    Vectors of this package's own have a constructor without effect, and so an empty initialiser.
    shim: the folder of the simulator's own headers, whose lines are not named.
    """
    if "__cxa_guard_acquire" not in assembly and "_GLOBAL__sub_I_" not in assembly:
        return
    files = {n: name for n, name in _FILE.findall(assembly) if not name.startswith(str(shim))}
    for found in _INITIALISER.finditer(assembly):
        if found[1] and not _WRITE.search(found[1]):
            continue
        body = found[2] or assembly[: found.start()]
        places = [place for place in _PLACE.findall(body) if place[0] in files]
        file, line = places[0] if found[2] else places[-1]
        raise KernelTextError(
            f"{Path(files[file]).name}, line {line}: a static, __device__ or __constant__ variable "
            "takes a constant as its first value, and this one would be computed: assign it in the "
            "kernel, or make it no static"
        )


def demangled(names):
    """The names as the text has them. Most libraries have none that a compiler mangled."""
    if not any(name.startswith("_Z") for name in names):
        return names
    text = "".join(f"{name}\n" for name in names)
    found = subprocess.run(["c++filt"], input=text, capture_output=True, text=True, check=True)
    return found.stdout.splitlines()
