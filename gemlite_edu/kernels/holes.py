"""Holes: the functions of a kernel that a learner may replace, and what may stand in them.

A hole is a function between `// BEGIN HOLE name` and `// END HOLE` in a file of cuda/. The first to
replace is `dequant_dot`, in cuda/gemv/gemv_a16wn_fp32.cu; docs/your_own_quantizer.md replaces it
for a new format. This file checks a replacement and puts it into the kernel's text.
"""

import re

from gemlite_edu.kernels.errors import KernelTextError

HOLE = re.compile(r"^// BEGIN HOLE (\w+)\n(.*?)^// END HOLE$", re.DOTALL | re.MULTILINE)
# Comments, strings and characters, which checks of the code must ignore.
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def filled(match, text, file_name, replacement):
    """The hole with a learner's text in it; `#line` keeps the line numbers of both texts."""
    resume = text[: match.end()].count("\n") + 1
    return (
        f'// BEGIN HOLE {match[1]}\n#line 1 "{match[1]}"\n{without_first_newline(replacement)}\n'
        f'#line {resume} "{file_name}"\n// END HOLE'
    )


def without_first_newline(text):
    """A learner's text as its lines are counted: an empty first line does not count."""
    text = text.replace("\r\n", "\n")
    return text[1:] if text.startswith("\n") else text


def without_comments(text):
    """The code of a text, without comments, strings and character literals."""
    return _NO_CODE.sub(" ", text)


def check_text(name, text):
    """Raise TypeError or KernelTextError for a text that cannot stand in the hole `name`."""
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
