"""Lines of an answer that often do not do what their writer meant.

Each is legal, and a right answer may have one: `check` names them where an answer is wrong.
"""

import re
from contextlib import contextmanager

from gemlite_edu.kernels.errors import KernelFault, KernelTextError
from gemlite_edu.runners.simulator.undefined_sentences import ORDER
from gemlite_lab.checker.doubts_of_exercises import OF_EXERCISE, OF_GROUPS
from gemlite_lab.checker.exercise import CheckFailed, NotYet
from gemlite_lab.checker.same_for_all import is_same_for_all
from gemlite_lab.checker.unfinished import text_of_python

_POWER = re.compile(r"(?<![\w.])(2|10)\s*\^")
_XOR = "^ is the exclusive or of the bits: 2 to the power n is "
_OWN_ARRAY = (
    "each thread has an array of its own there: one that others read is declared __shared__"
)
_BEYOND_AN_ARRAY = "whose indices go from"  # said where an index is wrong, and not whose array
_MASK = r"FULL_WARP|0x|~|-1|\w*mask"  # how the mask of a shuffle begins
# (pattern of a line without its comment, how C reads it)
_READ_OTHERWISE = (
    (
        r"[\w\])]\s*<=?\s*\w+\s*<=?(?!<)\s*\w",
        "C compares the result of the first comparison, 0 or 1, with the last number: write "
        "a <= b && b < c",
    ),
    (_POWER, f"{_XOR}1 << n"),
    (
        r"\b(for|if)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*;",
        "the semicolon behind the ) ends it: the statement behind is not its own",
    ),
    (
        r"^\s*(?:float|half|int|X_T)\s+\w+(?:\[[^\]]*\])+\s*;",
        _OWN_ARRAY,
    ),
    (
        rf"\b__shfl\w*\(\s*(?!{_MASK}|\d+u?\s*,.*,\s*\d+\s*\))"
        rf"(?:[^,()]+,[^,()]+\)|[^()]*,\s*(?:{_MASK}))",
        ORDER,
    ),
    (
        r"\b__shfl\w*\(\s*\d{1,5}u?\s*,.*,\s*\d+\s*\)",
        "the mask has a bit for each lane that takes part: 1 names lane 0 alone, and 0xffffffff "
        "all 32",
    ),
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
_SHIFTS_OF_PYTHON = (
    (
        r"<<\s*\d+\s*\+\s*[A-Za-z]",
        "+ comes before <<: put each shift in parentheses, or join the numbers by |",
    ),
    (r"<<\s*\d+\s*\)?\s*&.*<<", "& keeps only the bits that both have: | joins the numbers"),
)
_BLOCK_OR_DECLARED = re.compile(
    r"[{}]|\b(?:float|double|half|X_T|SUM_T|u?int(?:32_t)?)\s+(\w+)\s*=[^=]"
)
_FOR = re.compile(r"\bfor\s*\(\s*(?:(?:const|unsigned)\s+)*$")
_BARRIER = re.compile(r"\b(?:__syncthreads|stage_to_shared)\s*\(")
_HEAD_OF_IF = r"\s*(?:else\s+)?if\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*"
_IF_ALONE = re.compile(_HEAD_OF_IF)
_IF_BEFORE_A_BARRIER = re.compile(rf"^{_HEAD_OF_IF}\{{?\s*(?:__syncthreads|stage_to_shared)\s*\(")
_CONDITION = re.compile(r"\bif\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
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
            text = text_of_python(getattr(answer, "fn", answer))
            doubts = powers_as_xor(text, "#", "2**n")
            doubts += [] if "exactly what" in str(error) else doubtful_shifts(text)
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


def doubtful_shifts(text):
    """Sentences about the lines of a Python text that do not join shifted numbers."""
    lines = [line.partition("#")[0] for line in text.strip("\n").splitlines()]
    return [
        f"Look at line {number}, {line.strip()}\n{says}."
        for number, line in enumerate(lines, 1)
        for pattern, says in _SHIFTS_OF_PYTHON
        if re.search(pattern, line)
    ]


def doubtful_lines(text, exercise=None):
    """Sentences about the lines of a learner's CUDA text that may not do what they look like."""
    lines = [_COMMENT.sub("", line) for line in text.strip("\n").splitlines()]
    doubts = [
        (number, says)
        for number, line in enumerate(lines, 1)
        for pattern, says in (*_READ_OTHERWISE, *OF_EXERCISE.get(exercise, ()))
        if re.search(pattern, line)
    ]
    doubts += [*_declared_again(lines), *_barriers_in_an_if(lines), *_returns_above_one(lines)]
    doubts += _strides_of_one_code(lines) if OF_EXERCISE.get(exercise) is OF_GROUPS else []
    return [
        f"Look at line {number}, {lines[number - 1].strip()}\n{says}." for number, says in doubts
    ]


def _declared_again(lines):
    """(line, sentence) for each variable that an inner block declares under an outer one's name.

    The variable of a for ends with its loop, which cannot declare it again.
    """
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
                    f"this is a new {name}, which ends with its braces; that of line {outer[1]} is"
                )
                doubts.append((number, f"{says} another: leave the type out to assign to it"))
            elif not _FOR.search(line[: found.start()]):
                declared[name] = depth, number
    return doubts


def _barriers_in_an_if(lines):
    """(line, sentence) for each barrier in an if, whether braces open it or not."""
    doubts, opened = [], []
    for number, line in enumerate(lines, 1):
        above = lines[number - 2] if number > 1 else ""
        ifs = [outer for outer in opened if re.search(r"\bif\b", outer)]
        opening = ifs if _BARRIER.search(line) else []
        if _IF_BEFORE_A_BARRIER.search(line):
            opening = [*opening, line]
        elif re.match(r"\s*__syncthreads\s*\(", line) and _IF_ALONE.fullmatch(above):
            opening = [*opening, above]
        if opening:
            doubts.append((number, _of_a_barrier_in(opening, lines)))
        for brace in re.findall("[{}]", line):
            if brace == "{":
                opened.append(line)
            elif opened:
                opened.pop()
    return doubts


def _of_a_barrier_in(opening, lines):
    """What is said of a barrier behind these lines, some of which open an if."""
    conditions = [_CONDITION.search(line) for line in opening]
    if all(is_same_for_all(found[1], lines) for found in conditions if found):
        return "where this condition is false, all threads go on without waiting for each other"
    return "this waits for all threads of the block, and those that skip the if never come"


def _returns_above_one(lines):
    """(line, sentence) for each return in an if above a barrier."""
    barriers = [number for number, line in enumerate(lines, 1) if _BARRIER.search(line)]
    says = "the threads that return here take no part in line {}, which all threads of a block meet"
    return [
        (number, says.format(barriers[-1]))
        for number, line in enumerate(lines, 1)
        if barriers and number < barriers[-1] and re.search(r"\bif\s*\(.*\breturn\s*;", line)
    ]


def _strides_of_one_code(lines):
    """(line, sentence) for each loop that goes on by 1 around a call of dequant_dot."""
    calls = [number for number, line in enumerate(lines, 1) if "dequant_dot(" in line]
    stride = "dequant_dot takes CODES_PER_GROUP codes at once"
    return [
        (number, f"{stride}: where j stands for a code, it goes on by as many")
        for number, line in enumerate(lines, 1)
        if calls
        and number <= calls[-1]
        and re.search(r"\bfor\s*\(.*(?:\+\+\s*j|j\s*\+\+|j\s*\+=\s*1)\b", line)
    ]
