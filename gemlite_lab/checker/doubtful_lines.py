"""Lines of an answer that often do not do what their writer meant.

Each is legal, and a right answer may have one: `check` names them where an answer is wrong.
"""

import re
from contextlib import contextmanager

from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.runners.simulator.undefined_sentences import ORDER
from gemlite_lab.checker.exercise import CheckFailed, NotYet
from gemlite_lab.checker.unfinished import text_of_python

_POWER = re.compile(r"(?<![\w.])(2|10)\s*\^")
_XOR = "^ is the exclusive or of the bits: 2 to the power n is "
_OWN_ARRAY = (
    "each thread has an array of its own there: one that others read is declared __shared__"
)
_BEYOND_AN_ARRAY = "whose indices go from"  # said where an index is wrong, and not whose array
# (pattern of a line without its comment, how C reads it)
_READ_OTHERWISE = (
    (
        r"[\w\])]\s*<=?\s*\w+\s*<=?(?!<)\s*\w",
        "C compares the result of the first comparison, 0 or 1, with the last number: write "
        "a <= b && b < c",
    ),
    (_POWER, f"{_XOR}1 << n"),
    (
        r"\b(for|if)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*;\s*\{?\s*$",
        "the semicolon behind the ) ends it: the block below is not its own",
    ),
    (
        r"^\s*(?:float|half|int|X_T)\s+\w+(?:\[[^\]]*\])+\s*;",
        _OWN_ARRAY,
    ),
    (r"\b__shfl\w*\(\s*(?!FULL_WARP|0x|~|-1|\w*mask)", ORDER),
    (
        r"\b__shfl\w*\(\s*[^,()]+,\s*(\d+|\w*(offset|delta|distance|step)\w*)\s*,",
        f"offset and value are exchanged: {ORDER}",
    ),
    (r"\w\[[^\][(]*,", "a comma gives its right side alone: C writes tile[a][b]"),
    (r"\b__sync(threads|warp)\s*;", "without its () the barrier is named and not called"),
    (
        r"(?<![\w.])1\s*/\s*\d+(?![\d.ef])",
        "whole numbers divide to a whole number, here 0: write 1.0f / 2",
    ),
)
# Lines of a lesson's kernel of 8 bits, which the exercise asks for with 4.
_OF_EIGHT_BITS = (
    (r"\b128\b", "at 8 bits a tile is 128 wide; a word of 4-bit codes has 8 of them, for 32 lanes"),
    (r"word\s*>>\s*24\b|&\s*(255|0x[fF]{2})\b", "this takes 8 bits of the word; a code has 4"),
)
_OF_ROWS = (
    (r"\bi\s*[/%]\s*N\b", "a row has K elements: i / K is the row, and i % K the column"),
    (
        r"\*\s*\(?\s*1\.0*f?\s*/\s*K\b",
        "1.0f / K is rounded, so that the product may end below a whole number: i / K is exact",
    ),
)
_OF_PAIRS = ((r"<<\s*4\s*&", "& keeps the bits that both have, here none: | puts them together"),)
_OF_EXERCISE = {
    **dict.fromkeys(("fused_gemv", "climb", "dequant_dot_4bit"), _OF_EIGHT_BITS),
    "cuda_row_column": _OF_ROWS,
    "cuda_pack": _OF_PAIRS,
}
_BLOCK_OR_DECLARED = re.compile(
    r"[{}]|\b(?:float|double|half|X_T|SUM_T|u?int(?:32_t)?)\s+(\w+)\s*=[^=]"
)
_BARRIER = re.compile(r"\b(?:__syncthreads|stage_to_shared)\s*\(")
_COMMENT = re.compile(r"//.*|/\*.*?\*/")


@contextmanager
def doubtful_lines_named(exercise, answer):
    """Add the doubtful lines of an answer to an error that names no mistake.

    A ^ in place of a power is added to any error that says nothing of XOR, because the output of
    such an answer may be that of another mistake too.
    """
    try:
        yield
    except NotYet:
        raise
    except (CheckFailed, KernelFault, KernelTextError) as error:
        if "XOR" in str(error):
            raise
        if not exercise.is_kernel:
            doubts = powers_as_xor(text_of_python(getattr(answer, "fn", answer)), "#", "2**n")
        elif "exactly what comes out when" in str(error):
            doubts = powers_as_xor(answer, "//", "1 << n")
        else:
            doubts = doubtful_lines(answer, exercise.name)
        for said, doubted in ((ORDER, ORDER), (_BEYOND_AN_ARRAY, _OWN_ARRAY)):
            if said in str(error):
                doubts = [doubt for doubt in doubts if doubted not in doubt]
        if not doubts:
            raise
        raise type(error)("\n".join([str(error), *doubts])) from None


def powers_as_xor(text, comment, power):
    """Sentences about the lines in which ^ stands behind a 2 or a 10, as if it were a power."""
    lines = [line.partition(comment)[0] for line in text.strip("\n").splitlines()]
    return [
        f"Look at line {number}, {line.strip()}\n{_XOR}{power}."
        for number, line in enumerate(lines, 1)
        if _POWER.search(line)
    ]


def doubtful_lines(text, exercise=None):
    """Sentences about the lines of a learner's CUDA text that may not do what they look like."""
    lines = [_COMMENT.sub("", line) for line in text.strip("\n").splitlines()]
    doubts = [
        (number, says)
        for number, line in enumerate(lines, 1)
        for pattern, says in (*_READ_OTHERWISE, *_OF_EXERCISE.get(exercise, ()))
        if re.search(pattern, line)
    ]
    doubts += [*_declared_again(lines), *_barriers_in_an_if(lines)]
    return [
        f"Look at line {number}, {lines[number - 1].strip()}\n{says}." for number, says in doubts
    ]


def _declared_again(lines):
    """(line, sentence) for each variable that an inner block declares under an outer one's name."""
    doubts, declared, depth = [], {}, 0
    for number, line in enumerate(lines, 1):
        for found in _BLOCK_OR_DECLARED.finditer(line):
            name = found[1]
            outer = declared.get(name)
            if not name:
                depth += 1 if found[0] == "{" else -1
                declared = {name: place for name, place in declared.items() if place[0] <= depth}
            elif outer and outer[0] < depth:
                says = (
                    f"this is a new {name}, which ends with its block; that of line {outer[1]} is"
                )
                doubts.append((number, f"{says} another: leave the type out to assign to it"))
            else:
                declared[name] = depth, number
    return doubts


def _barriers_in_an_if(lines):
    """(line, sentence) for each barrier in a block that an if opens."""
    doubts, opened = [], []
    for number, line in enumerate(lines, 1):
        if _BARRIER.search(line) and any(re.search(r"\bif\b", outer) for outer in opened):
            says = "this waits for all threads of the block, and those that skip the if never come"
            doubts.append((number, says))
        for brace in re.findall("[{}]", line):
            if brace == "{":
                opened.append(line)
            elif opened:
                opened.pop()
    return doubts
