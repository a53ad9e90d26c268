"""What a compiler says of a learner's text, in the lines that the learner wrote."""

import re
from pathlib import Path

from gemlite_edu.kernels.ended_names import where_the_name_ended
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.first_mistakes import advice_on_first_mistake, line_without_its_end
from gemlite_edu.kernels.holes import without_first_newline
from gemlite_edu.kernels.not_simulated import explain_unknown_name
from gemlite_edu.kernels.suggestions import without_foreign_suggestion

# g++: "file:3:12: error: text"; its assembler: "file:3: Error: text"; nvcc: "file(3): error: text"
_COMPILER_ERROR = re.compile(
    r"^(.+?)[:(](\d+)[:)](?:\d*:)? (?:fatal )?[Ee]rror\b:? *(.*?)(?: \[-W.*\])?$", re.MULTILINE
)
_ASM = (
    " (asm is for a GPU, and this text runs on a CPU too: put it between #ifdef __CUDACC__ and "
    "#else, and the same in C++ between that and #endif)"
)

_NAMES_OF_COMPILER = (
    (r" \[-fpermissive\]$", ""),
    (r"location '\*\((\w+) \+ .*\)'", r"element of '\1'"),
    (r"'[^']*<ubsan routine call>[^']*'", "this expression"),
    (r"SimShuffled<[^']*>' \{aka '([^']*)'\}", r"\1'"),
    (r"\bsim_(fp16|bf16)::", ""),
    (r"_ZTW\d+(\w+)\(\)", r"\1"),
    (r"SimSixteenBits<SimHalfFormat, ?SimHalfPowers>", "half"),
    (r"SimSixteenBits<SimBfloat16Format, ?SimBfloat16Powers>", "__nv_bfloat16"),
    (r"SimPair<half ?>", "half2"),
    (r"SimPair<__nv_bfloat16 ?>", "__nv_bfloat162"),
)
# (part of a compiler's message about a frequent mistake, what to do about it)
_COMPILER_HINTS = (
    ("SimSixteenBits", " (x has the type X_T: make it a float with to_float(...) first)"),
    ("discards qualifiers", " (const means: read it, do not write it)"),
    ("variable length array", " (CUDA needs the length of an array as a constant)"),
    ("exception handling disabled", " (CUDA has no exceptions: no throw, no try)"),
    ("may be used uninitialized", " (give it a value where you declare it)"),
    ("address of local variable", " (it ends with its function: return its value)"),
    ("no such instruction", _ASM),
    ("unknown mnemonic", _ASM),
    ("'asm'", _ASM),
)


def explain_compiler_error(output, replace=None, kernel=""):
    """A `KernelTextError` with the compiler's first error, located in the learner's own lines.

    replace: {hole: the learner's text}. kernel: the whole text that was compiled.
    """
    found = _COMPILER_ERROR.findall(output)
    if not found:
        return KernelTextError(f"the compiler failed:\n{output.strip()}")
    texts = {name: without_first_newline(text) for name, text in (replace or {}).items()}
    file_name, line, message = next((f for f in found if f[0] in texts), found[0])
    if file_name.endswith(".h"):  # of the compiler's own
        file_name, line = _named_place(texts, output) or (file_name, line)
    lines = texts.get(file_name, "").splitlines()
    is_own = 0 < int(line) <= len(lines)
    line = line_without_its_end(message, lines, int(line)) if is_own else line
    own = lines[line - 1].strip() if is_own else ""
    quoted = f"\n    {own}" if own else ""
    ended = where_the_name_ended(message, lines[: line - 1]) if is_own else None
    message = (
        ended
        or explain_unknown_name(message, own or _quoted_line(output), in_hole=bool(texts))
        or without_foreign_suggestion(message, kernel, own)
    )
    message = _with_names_of_cuda(message) + _hint(message, own, texts)
    if texts and file_name not in texts:
        message += f" (that line is not yours: it uses your {', '.join(texts)})"
        quoted = "".join(_own_line(name, text, output) for name, text in texts.items())
    return KernelTextError(f"{Path(file_name).name}, line {line}: {message}{quoted}")


def _hint(message, own, texts):
    """What to do about the message, in parentheses; empty if that is unknown."""
    named = _with_names_of_cuda(message)
    of_pointers = re.search(r"\w(?<!operator)\*", named)
    hints = [hint for mark, hint in _COMPILER_HINTS if mark in message]
    if ("SimSixteenBits" in message and of_pointers) or ("variable length" in message and own):
        hints = []
    if hints and ("SimSixteenBits" not in message or any("X_T" in text for text in texts.values())):
        return hints[0]
    advice = own and advice_on_first_mistake(named, own)
    if hints and not advice and "half2" not in named:
        advice = "make a half a float first: static_cast<float>(...)"
    return f" ({advice})" if advice else ""


def _named_place(texts, output):
    """The first (text, line) that the compiler names with its error, if it names one."""
    places = re.findall(r"^(\w+)[:(](\d+)\b", output, re.MULTILINE)
    return next((place for place in places if place[0] in texts), None)


def _with_names_of_cuda(message):
    """The message without the simulator's own names of types."""
    message = re.sub(r" \{aka '[^']*\bSim[^']*'\}", "", message)
    for pattern, name in _NAMES_OF_COMPILER:
        message = re.sub(pattern, name, message)
    return message


def _quoted_line(output):
    """The line of the text that g++ quotes below its first error."""
    quoted = re.search(r"[Ee]rror:.*\n +\d+ \|(.*)", output)
    return quoted[1] if quoted else ""


def _own_line(name, text, output):
    """The learner's line that the compiler names with its error, or else the signature's line."""
    lines = text.splitlines()
    named = re.search(rf"\b{name}:(\d+):", output)
    calls = [i for i, line in enumerate(lines, 1) if f"{name}(" in line.partition("//")[0]]
    number = int(named[1]) if named else min(calls, default=1)
    return f"\n    {name}, line {number}: {lines[number - 1].strip()}"
