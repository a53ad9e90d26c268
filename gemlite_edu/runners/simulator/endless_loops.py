"""Find the loop `for (unsigned j = 7; j >= 0; --j)`, which never ends, behind what it led to."""

import re

_ALWAYS = re.compile(
    r"^([^\s:]+):(\d+):\d+: warning: comparison .* always true .*\[-Wtype-limits\]$", re.MULTILINE
)
_LOOP = re.compile(r"\b(?:for|while)\b")
_LEAVES = re.compile(r"\b(?:break|goto|return)\b")
_LONGEST = 200  # lines of a loop
_FILE = "always_true.txt"


def keep_conditions(folder, warnings):
    """Write down the lines whose comparison is true for each value of its type.

    warnings: what the compiler said of the kernel's text.
    """
    places = dict.fromkeys(
        f"{file.rpartition('/')[2]}:{line}" for file, line in _ALWAYS.findall(warnings)
    )
    (folder / _FILE).write_text("".join(f"{place}\n" for place in places))


def endless_loop(library, code_at):
    """The "file:line" of a loop that such a comparison keeps going, if it is the only one; or "".

    code_at: a function from "file:line" to that line of the text.
    """
    places = (library.parent / _FILE).read_text().splitlines()
    loops = [place for place in places if _LOOP.search(code_at(place) + _before(place, code_at))]
    if len(loops) != 1 or _may_be_left(loops[0], code_at):
        return ""
    return loops[0]


def _before(place, code_at):
    file, _, line = place.rpartition(":")
    return code_at(f"{file}:{int(line) - 1}")


def _may_be_left(place, code_at):
    """True if a break, goto or return stands on the loop's line or in the braces opened there."""
    file, _, line = place.rpartition(":")
    depth = 0
    for number in range(int(line), int(line) + _LONGEST):
        code = code_at(f"{file}:{number}")
        if _LEAVES.search(code):
            return True
        depth += code.count("{") - code.count("}")
        if depth <= 0:
            return False
    return True


def endless_sentence(what_it_led_to):
    """The sentence about the loop. what_it_led_to: the sentence about the run's end."""
    happened = what_it_led_to.rpartition(": ")[0] or what_it_led_to
    return (
        "this loop does not end, because its counter is unsigned and so never below 0: make it an "
        f"int ({happened})"
    )
