"""Steps of the simulator that stand in for one instruction of a GPU."""

import re
from dataclasses import replace
from itertools import groupby

_IF, _ELSE, _END = re.compile(r"\s*#\s*if"), re.compile(r"\s*#\s*el"), re.compile(r"\s*#\s*endif")
_FOR_THE_SIMULATOR = re.compile(r"!\s*defined\s*\(\s*__CUDACC__|ifndef\s+__CUDACC__")
_FOR_A_GPU = re.compile(r"__CUDACC__|__CUDA_ARCH__")
_INSTRUCTION = re.compile(r'\basm\b[^"]*"\s*(\w+\.\w+)')


def merged(steps, lines):
    """`steps`, where the shuffles that stand in for an instruction at one place are one step.

    It has the line that calls their function. lines: {"file:line": text} of the kernel. Steps with
    a fault stay as they are.
    """
    instructions = instructions_of(lines)

    def key(step):
        is_plain = step.op == "shuffle" and not step.faults and len(step.calls) > 1
        stands_in = is_plain and step.place in instructions
        return (instructions[step.place], step.calls[1:]) if stands_in else step.number

    for found, own in groupby(steps, key):
        first, *others = own
        if isinstance(found, int):
            yield first
        else:
            op, calls = found
            place = calls[0][1]
            known = {"place": place, "code": lines[place].strip(), "calls": calls}
            empty = {"sources": {}, "values": {}, "taken": {}}
            yield replace(first, op=op, merged=1 + len(others), **known, **empty)


def instructions_of(lines):
    """{"file:line": the PTX instruction} of lines that only the simulator compiles, in its place.

    >>> text = ["#ifndef __CUDACC__", "f();", "#else", 'asm("mma.sync.aligned %0");', "#endif"]
    >>> instructions_of({f"a:{number}": line for number, line in enumerate(text)})
    {'a:1': 'mma.sync'}
    """
    found, own, names, is_own = {}, [], [], False
    for place, text in lines.items():
        if _IF.match(text):
            own, names, is_own = [], [], bool(_FOR_THE_SIMULATOR.search(text))
        elif _ELSE.match(text):
            is_own = not is_own and not _FOR_A_GPU.search(text)
        elif _END.match(text):
            found |= {each: name for each in own for name in names[:1]}
            own, names, is_own = [], [], False
        elif is_own:
            own.append(place)
        else:
            names += _INSTRUCTION.findall(text)
    return found
