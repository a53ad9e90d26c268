"""The words and signs of a CUDA text, as a compiler reads them.

The first translation phases of C++17: a backslash at the end of a line continues it, comments are
spaces, and a digraph is another spelling of its sign. C++17 has no trigraphs.
"""

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from gemlite_edu.kernels.errors import KernelTextError

WORD, NUMBER, STRING, CHARACTER, SIGN, NEWLINE, ODD = (
    "word",
    "number",
    "string",
    "character",
    "sign",
    "newline",
    "odd",
)
_DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}", "%:": "#", "%:%:": "##"}
_CONTINUED = re.compile(r"\\[ \t\f\v]*\n")
_SPACE = re.compile(r"[ \t\f\v]+|//[^\n]*")
_RAW_STRING = re.compile(r'(?:u8|[uUL])?R"([^ ()\\\t\v\f\n]{0,16})\(')
_TOKEN = re.compile(
    r"""
    (?P<newline>\n)
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
  | (?P<character>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*')
  | (?P<word>(?:[A-Za-z_$\x80-\U0010ffff]|\\u[0-9a-fA-F]{4})(?:[\w$]|\\u[0-9a-fA-F]{4})*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[\w.])*)
  | (?P<sign>\#\#|%:%:|<::(?![:>])|<:|:>|<%|%>|%:|::|->|<<|[-+*/%^&|<>=!]=|&&|\|\||\.\.\.
      |[]{}()\[;:?.~!+\-*/%^&|=<>,\#])
  | (?P<odd>["'][^\n]*|.)
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """A word or sign: its kind, its text, and the line of the learner's text where it begins.

    is_glued: nothing separates it from the token before, as a #define's list of parameters.
    """

    kind: str
    text: str
    line: int
    is_glued: bool = False


@lru_cache(256)  # a check asks for those of one text in each of its cases, by several rules
def tokens_of(name, text):
    """The tokens of the text for the hole `name`; ends of lines are tokens too.

    A quote that nothing closes is a token of kind ODD, for it may stand in lines that are off.
    Raises KernelTextError for what no compiler reads.
    """
    pieces = _CONTINUED.split(text)
    joints = list(accumulate(len(piece) for piece in pieces))[:-1]
    text = "".join(pieces)
    ends = [match.start() for match in re.finditer("\n", text)]

    def line_at(position):
        return 1 + bisect_left(ends, position) + bisect_right(joints, position)

    def refuse(why):
        raise KernelTextError(f"the text for {name} {why} (line {line_at(position)})")

    found, position, end_of_last = [], 0, None
    while position < len(text):
        space = _SPACE.match(text, position)
        if space:
            position = space.end()
        elif text.startswith("/*", position):
            end = text.find("*/", position + 2)
            if end < 0:
                refuse("opens a comment that no */ closes")
            position = end + 2
        elif raw := _RAW_STRING.match(text, position):
            end = text.find(f'){raw[1]}"', raw.end())
            if end < 0:
                refuse("opens a raw string that nothing closes")
            end += len(raw[1]) + 2
            if bisect_left(joints, end) > bisect_right(joints, position):
                refuse("has a raw string with a backslash at the end of a line: write it without")
            found.append(Token(STRING, text[position:end], line_at(position)))
            position = end
        else:
            match = _TOKEN.match(text, position)
            first, *others = _tokens(match, line_at(position))
            found += [first._replace(is_glued=position == end_of_last), *others]
            position = end_of_last = match.end()
    return tuple(found)


def _tokens(match, line):
    if match[0] == "<::":  # C++11: two signs, unless a third : or a > follows
        return [Token(SIGN, "<", line), Token(SIGN, "::", line)]
    return [Token(match.lastgroup, _DIGRAPHS.get(match[0], match[0]), line)]
