"""The kernels' texts: read a file, or expand a kernel's includes and fill its holes.

With `#line` directives, the compiler's messages give the reader's own line numbers, even inside a
replaced hole.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from gemlite_edu.kernels.holes import HOLE, check_text, filled, words_of

FOLDER = Path(__file__).parent / "cuda"

_LOCAL_INCLUDE = re.compile(r'#include "(\w+\.cuh)"')


def read(file_name: str) -> str:
    """The text of one file in `kernels/cuda/`; the name "gemv_a16wn_fp32" means its .cu file."""
    path = _paths().get(file_name if "." in file_name else f"{file_name}.cu")
    if path is None:
        names = ", ".join(sorted(_paths()))
        raise ValueError(f"there is no file {file_name!r}; there are {names}")
    return path.read_text(encoding="utf-8")


@cache
def _paths() -> dict[str, Path]:
    return {path.name: path for path in FOLDER.glob("*/*")}


def hole(name: str, kernel: str) -> str:
    """The shipped text in the hole `name` of `kernel`.

    >>> print(hole("warp_reduce_sum", "gemv_a16wn_fp32").splitlines()[1])
    __device__ float warp_reduce_sum(float value) {
    """
    kernel = kernel.removesuffix(".cu")
    holes = _holes(f"{kernel}.cu")
    if name not in holes:
        raise ValueError(f"{kernel} has no hole {name!r}; its holes are {', '.join(holes)}")
    return holes[name]


def place_of_hole(name: str, kernel: str) -> tuple[str, int]:
    """(file, number of the first line) of the shipped text in the hole `name` of `kernel`.

    >>> place_of_hole("warp_reduce_sum", "gemv_a16wn_fp32")
    ('warp_reduce.cuh', 7)
    """
    hole(name, kernel)
    before, mark, _ = expand(kernel.removesuffix(".cu")).partition(f"// BEGIN HOLE {name}\n")
    directive, _, since = (before + mark).rpartition("#line ")[2].partition("\n")
    number, file_name = directive.split()
    return file_name.strip('"'), int(number) + since.count("\n")


def expand(kernel: str, replace: dict[str, str] | None = None) -> str:
    """The text of `kernel` with local includes expanded and holes replaced by `replace[name]`.

    Raises ValueError for an unknown hole, or for a text that cannot fill it.
    """
    replace = {} if replace is None else replace
    if not isinstance(replace, dict):
        came = type(replace).__name__
        raise TypeError(f"replace must be a dict of hole names and their texts, got {came}")
    for name, text in replace.items():
        hole(name, kernel)
        others = [other for other in replace if other != name and isinstance(replace[other], str)]
        words_of_others = set().union(*(words_of(other, replace[other]) for other in others))
        check_text(name, text, _words_around(kernel, frozenset(replace)), words_of_others)
    return "".join(_expand_file(f"{kernel}.cu", replace, seen=set()))


def expand_header(file_name: str) -> str:
    """The text of a header with local includes expanded.

    >>> "constexpr int WARP_SIZE = 32;" in expand_header("tensor_core.cuh")
    True
    """
    return "".join(_expand_file(file_name, {}, seen=set()))


@cache
def _words_around(kernel: str, holes: frozenset[str]) -> frozenset[str]:
    """The words of `kernel`, and of what launches it, but not those in these holes."""
    text = "".join(_expand_file(f"{kernel}.cu", dict.fromkeys(holes, ""), seen=set()))
    return frozenset(words_of(kernel, text) | words_of(kernel, read("bindings.cu")))


@cache
def _holes(file_name: str) -> dict[str, str]:
    text = "".join(_expand_file(file_name, {}, seen=set()))
    text = re.sub(r"^#line .*\n", "", text, flags=re.MULTILINE)
    return {name: body for name, body in HOLE.findall(text)}


def _expand_file(file_name: str, replace: dict[str, str], seen: set[str]) -> Iterator[str]:
    """Pieces of a file's text with includes expanded; a text that fills a hole stays unchanged."""
    seen.add(file_name)
    text = read(file_name)
    yield f'#line 1 "{file_name}"\n'
    end = 0
    for match in HOLE.finditer(text):
        if match[1] in replace:
            yield from _expand_includes(text, end, match.start(), file_name, replace, seen)
            yield filled(match, text, file_name, replace[match[1]])
            end = match.end()
    yield from _expand_includes(text, end, len(text), file_name, replace, seen)


def _expand_includes(
    text: str, start: int, end: int, file_name: str, replace: dict[str, str], seen: set[str]
) -> Iterator[str]:
    line_number = text[:start].count("\n")
    for line in text[start:end].splitlines(keepends=True):
        line_number += 1
        include = _LOCAL_INCLUDE.match(line)
        if not include:
            yield "\n" if line.startswith("#pragma once") else line
        elif include[1] not in seen:
            yield from _expand_file(include[1], replace, seen)
            yield f'#line {line_number + 1} "{file_name}"\n'
        else:
            yield "\n"
