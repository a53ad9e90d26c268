"""A name that a text uses behind the braces, or behind the loop, in which it makes it."""

import re

_TYPE = r"(?:float|double|half2?|bool|char|auto|X_T|SUM_T|unsigned|u?int\w*)"
_UNKNOWN = re.compile(r"'(\w+)' was not declared in this scope")


def where_the_name_ended(message, lines):
    """One sentence on a name that the compiler does not know, if one of these lines made it.

    lines: those above the one that the message is about.
    """
    unknown = _UNKNOWN.match(message)
    if not unknown:
        return None
    name = unknown[1]
    made = re.compile(rf"\b{_TYPE}[\s*&]+(?:[^;()]*,\s*)?{name}\s*[=;\[]")
    for number, line in reversed([*enumerate(lines, 1)]):
        if made.search(line.partition("//")[0]):
            return (
                f"'{name}' was not declared in this scope ({name} ends with the braces or the loop "
                f"in which line {number} makes it)"
            )
    return None
