"""The kernels' texts: read them, replace their holes, and explain a compiler's errors in them.

A hole is a function between `// BEGIN HOLE name` and `// END HOLE`. With `#line` directives, the
compiler's messages give the reader's own line numbers, even inside a replaced hole.
"""

import re
from pathlib import Path

from gemlite_edu.numbers.errors import KernelTextError

FOLDER = Path(__file__).parent / "cuda"

_HOLE = re.compile(r"^// BEGIN HOLE (\w+)\n(.*?)^// END HOLE$", re.DOTALL | re.MULTILINE)
_LOCAL_INCLUDE = re.compile(r'#include "(\w+\.cuh)"')
# Comments, strings and characters, which checks of the code must ignore.
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
# g++: "file:3:12: error: text"; its assembler: "file:3: Error: text"; nvcc: "file(3): error: text"
_COMPILER_ERROR = re.compile(
    r"^(.+?)[:(](\d+)[:)](?:\d*:)? (?:fatal )?[Ee]rror\b:? *(.*?)(?: \[-W.*\])?$", re.MULTILINE
)
_ASM = (
    " (asm is for a GPU, and this text runs on a CPU too: put it between #ifdef __CUDACC__ and "
    "#else, and the same in C++ between that and #endif)"
)

# (part of a compiler's message about a frequent mistake, what to do about it)
_COMPILER_HINTS = (
    ("SimSixteenBits", " (x has the type X_T: make it a float with to_float(...) first)"),
    ("discards qualifiers", " (const means: read it, do not write it)"),
    ("may be used uninitialized", " (give it a value where you declare it)"),
    ("no such instruction", _ASM),
    ("unknown mnemonic", _ASM),
    ("'asm'", _ASM),
)


def read(file_name):
    """The text of one file in `kernels/cuda/`; the name "gemv_a16wn_fp32" means its .cu file."""
    paths = {path.name: path for path in FOLDER.glob("*/*")}
    path = paths.get(file_name if "." in file_name else f"{file_name}.cu")
    if path is None:
        names = ", ".join(sorted(paths))
        raise ValueError(f"there is no file {file_name!r}; there are {names}")
    return path.read_text(encoding="utf-8")


def hole(name, kernel):
    """The shipped text in the hole `name` of `kernel`.

    >>> print(hole("warp_reduce_sum", "gemv_a16wn_fp32").splitlines()[1])
    __device__ float warp_reduce_sum(float value) {
    """
    kernel = kernel.removesuffix(".cu")
    holes = _holes(f"{kernel}.cu")
    if name not in holes:
        raise ValueError(f"{kernel} has no hole {name!r}; its holes are {', '.join(holes)}")
    return holes[name]


def place_of_hole(name, kernel):
    """(file, number of the first line) of the shipped text in the hole `name` of `kernel`.

    >>> place_of_hole("warp_reduce_sum", "gemv_a16wn_fp32")
    ('warp_reduce.cuh', 7)
    """
    hole(name, kernel)
    before, mark, _ = expand(kernel.removesuffix(".cu")).partition(f"// BEGIN HOLE {name}\n")
    directive, _, since = (before + mark).rpartition("#line ")[2].partition("\n")
    number, file_name = directive.split()
    return file_name.strip('"'), int(number) + since.count("\n")


def expand(kernel, replace=None):
    """The text of `kernel` with local includes expanded and holes replaced by `replace[name]`.

    Raises ValueError for an unknown hole, or for a text that cannot fill it.
    """
    replace = {} if replace is None else replace
    if not isinstance(replace, dict):
        came = type(replace).__name__
        raise TypeError(f"replace must be a dict of hole names and their texts, got {came}")
    for name, text in replace.items():
        hole(name, kernel)
        _check_text(name, text)
    return "".join(_expand_file(f"{kernel}.cu", replace, seen=set()))


def explain_compiler_error(output, replace=None):
    """A `KernelTextError` with the compiler's first error, located in the learner's own lines."""
    found = _COMPILER_ERROR.findall(output)
    if not found:
        return KernelTextError(f"the compiler failed:\n{output.strip()}")
    texts = {name: _without_first_newline(text) for name, text in (replace or {}).items()}
    file_name, line, message = next((f for f in found if f[0] in texts), found[0])
    message += next((hint for mark, hint in _COMPILER_HINTS if mark in message), "")
    lines = texts.get(file_name, "").splitlines()
    quoted = f"\n    {lines[int(line) - 1].strip()}" if 0 < int(line) <= len(lines) else ""
    if texts and file_name not in texts:
        message += f" (that line is not yours: it uses your {', '.join(texts)})"
        quoted = "".join(_own_line(name, text, output) for name, text in texts.items())
    return KernelTextError(f"{Path(file_name).name}, line {line}: {message}{quoted}")


def _own_line(name, text, output):
    """The learner's line that the compiler names with its error, or else the signature's line."""
    lines = text.splitlines()
    named = re.search(rf"\b{name}:(\d+):", output)
    calls = [i for i, line in enumerate(lines, 1) if f"{name}(" in line.partition("//")[0]]
    number = int(named[1]) if named else min(calls, default=1)
    return f"\n    {name}, line {number}: {lines[number - 1].strip()}"


def _holes(file_name):
    text = "".join(_expand_file(file_name, {}, seen=set()))
    text = re.sub(r"^#line .*\n", "", text, flags=re.MULTILINE)
    return {name: body for name, body in _HOLE.findall(text)}


def _expand_file(file_name, replace, seen):
    """Pieces of a file's text with includes expanded; a text that fills a hole stays unchanged."""
    seen.add(file_name)
    text = read(file_name)
    yield f'#line 1 "{file_name}"\n'
    end = 0
    for match in _HOLE.finditer(text):
        if match[1] in replace:
            yield from _expand_includes(text, end, match.start(), file_name, replace, seen)
            yield _filled(match, text, file_name, replace[match[1]])
            end = match.end()
    yield from _expand_includes(text, end, len(text), file_name, replace, seen)


def _expand_includes(text, start, end, file_name, replace, seen):
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


def _filled(match, text, file_name, replacement):
    resume = text[: match.end()].count("\n") + 1
    return (
        f'// BEGIN HOLE {match[1]}\n#line 1 "{match[1]}"\n{_without_first_newline(replacement)}\n'
        f'#line {resume} "{file_name}"\n// END HOLE'
    )


def _without_first_newline(text):
    text = text.replace("\r\n", "\n")
    return text[1:] if text.startswith("\n") else text


def without_comments(text):
    """The code of a text, without comments, strings and character literals."""
    return _NO_CODE.sub(" ", text)


def _check_text(name, text):
    if not isinstance(text, str):
        raise TypeError(f"the text for {name} must be a str, got {type(text).__name__}")
    code = without_comments(text)
    if not re.search(rf"\b{name}\s*\(", code):
        raise KernelTextError(f"the text for {name} must define the function {name}(...)")
    opened, closed = code.count("{"), code.count("}")
    if opened != closed:
        raise KernelTextError(f"the text for {name} opens {opened} braces and closes {closed}")
    if re.search(r"^\s*#\s*include", code, re.MULTILINE):
        raise KernelTextError(f"the text for {name} must not include files: leave the #include out")
    for statement in _outside_braces(code).split(";"):
        _check_for_gpu(name, statement)
    if re.search(r"\bthread_local\b", code):
        raise KernelTextError(f"the text for {name} says thread_local, which CUDA does not have")


def _check_for_gpu(name, statement):
    """Raise for C++ that only the simulator compiles: a GPU needs __device__ or __constant__."""
    if re.search(
        r"\b(using|typedef|__device__|__constant__|__shared__|constexpr\s[^[]*\()", statement
    ):
        return
    if re.match(r"[^(]*\[", statement):
        raise KernelTextError(
            f"the text for {name} has an array outside its functions, which a GPU cannot read: "
            "put __constant__ before it, or move it into the function"
        )
    if re.search(r"^[^#=(]*\w\s+\w+\s*\(", statement, re.MULTILINE):
        function = re.search(r"(\w+)\s*\(", statement)[1]
        raise KernelTextError(
            f"the text for {name} must say __device__ before {function}(...): "
            "a GPU can call nothing else"
        )


def _outside_braces(code):
    innermost = re.compile(r"\{[^{}]*\}")
    while innermost.search(code):
        code = innermost.sub(";", code)
    return code
