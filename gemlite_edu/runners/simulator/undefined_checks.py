"""Take the sanitizer's checks for undefined behaviour out of an assembly's flow of control.

A check is a jump around, or to, a call of a handler. The basic blocks of the kernel's own text are
those without these jumps: the checks must not change which of its blocks follow which.
"""

import bisect
import re

from gemlite_edu.runners.simulator.program_order import JUMP

_HANDLER = re.compile(r"^\s+(?:callq?|bl)\s+__ubsan_handle_\w+.*\n", re.MULTILINE)
_DIRECTIVES = r"(?:\s+\.(?!L).*\n|\.L[VB]\w+:\n)*"
_LABEL_BEHIND = re.compile(rf"{_DIRECTIVES}(\.L\d+):")
_JUMP_BEHIND = re.compile(rf"{_DIRECTIVES}\s+(?:jmp|b)\s")
_LABEL = re.compile(r"^(\.L\d+):", re.MULTILINE)


def without_checks(assembly, instruments):
    """The text with blanks for the jumps of checks, and for the labels that only they use.

    instruments: the positions of the instruments' calls, rising. Each block of the text begins with
    one, so whatever jumps and is jumped to between one and a handler belongs to the check.
    """
    jumps, labels = list(JUMP.finditer(assembly)), list(_LABEL.finditer(assembly))
    jump_starts, label_starts = ([m.start() for m in found] for found in (jumps, labels))
    targets, of_checks = set(), set()
    for handler in _HANDLER.finditer(assembly):
        before = bisect.bisect(instruments, handler.start())
        begin = instruments[before - 1] if before else 0
        inside = _between(jump_starts, begin, handler.start())
        own = {labels[i][1] for i in _between(label_starts, begin, handler.start())}
        behind = _LABEL_BEHIND.match(assembly, handler.end())
        targets |= own
        around = own | {behind[1]} if behind else own
        of_checks |= {i for i in inside if jumps[i][2] in around}
        if _JUMP_BEHIND.match(assembly, handler.end()):
            of_checks.add(bisect.bisect(jump_starts, handler.end()))
    of_checks |= {i for i, jump in enumerate(jumps) if jump[2] in targets}
    used = {jump[2] for i, jump in enumerate(jumps) if i not in of_checks}
    unused = [label for label in labels if label[1] not in used]
    return _blanked(assembly, [*(jumps[i] for i in of_checks), *unused])


def _between(positions, begin, end):
    return range(bisect.bisect(positions, begin), bisect.bisect(positions, end))


def _blanked(text, matches):
    parts, end = [], 0
    for match in sorted(matches, key=lambda match: match.start()):
        parts += [text[end : match.start()], " " * len(match[0])]
        end = match.end()
    return "".join([*parts, text[end:]])
