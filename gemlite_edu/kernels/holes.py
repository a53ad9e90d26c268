"""Holes: the functions of a kernel that a learner may replace, and what may stand in them.

A hole is a function between `// BEGIN HOLE name` and `// END HOLE` in a file of cuda/. The first to
replace is `dequant_dot`, in cuda/gemv/gemv_a16wn_fp32.cu; docs/your_own_quantizer.md replaces it
for a new format. This file checks a replacement and puts it into the kernel's text.
"""

import re
from functools import lru_cache

from gemlite_edu.kernels import conditionals
from gemlite_edu.kernels.device_rules import check_declarations
from gemlite_edu.kernels.directive_rules import check_directives, without_sides_for_a_gpu
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.order_rules import check_order
from gemlite_edu.kernels.tokens import WORD, tokens_of
from gemlite_edu.kernels.word_rules import check_words

HOLE = re.compile(r"^// BEGIN HOLE (\w+)\n(.*?)^// END HOLE$", re.DOTALL | re.MULTILINE)
_DEFINED_BESIDE = {"dequant_pair": ("offset_of",)}  # {hole: what kernels call beside it}
_MOST_CHARACTERS = 50_000
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


def words_of(name, text):
    """The words of a text, without those in its comments and strings."""
    return {token.text for token in tokens_of(name, text) if token.kind == WORD}


def check_text(name, text, kernel_words=frozenset(), words_of_others=frozenset()):
    """Raise TypeError or KernelTextError for a text that cannot stand in the hole `name`.

    kernel_words: the words of the kernel around the hole. words_of_others: those of the learner's
    texts for other holes.
    """
    _check_characters(name, text)
    _check_code(name, text, kernel_words, frozenset(words_of_others))


@lru_cache(256)  # a check loads one text for each of its cases
def _check_code(name, text, kernel_words, words_of_others):
    def refuse(line, what):
        raise KernelTextError(f"the text for {name} {what} (line {line})")

    lines = _lines_of(name, text)
    check_directives(lines, kernel_words, refuse)
    try:
        _check_functions_and_braces(name, conditionals.views(lines), words_of_others)
        for code in code_here(name, text):
            check_words(code, refuse)
            check_declarations(code, words_of_others, refuse)
            check_order(code, refuse)
    except RecursionError:
        raise KernelTextError(f"the text for {name} has too many braces in braces") from None


def code_here(name, text):
    """The views of a text without what only a GPU compiles: its tokens, with macros expanded."""
    return conditionals.views(without_sides_for_a_gpu(_lines_of(name, text)))


def _lines_of(name, text):
    lines = conditionals.lines_of(tokens_of(name, without_first_newline(text)))
    return conditionals.without_lines_that_are_off(lines)


def _check_characters(name, text):
    if not isinstance(text, str):
        raise TypeError(f"the text for {name} must be a str, got {type(text).__name__}")
    if len(text) > _MOST_CHARACTERS:
        raise KernelTextError(
            f"the text for {name} has {len(text):,} characters; {_MOST_CHARACTERS:,} is the most"
        )
    if "\0" in text or not text.isascii() and text != text.encode(errors="replace").decode():
        raise KernelTextError(f"the text for {name} has a character that no file of text can have")


def _check_functions_and_braces(name, views, words_of_others):
    """Refuse a text that lacks a function, or whose braces are open in every view."""
    texts = [[token.text for token in code] for code in views]
    beside = [other for other in _DEFINED_BESIDE.get(name, ()) if other not in words_of_others]
    for function in (name, *beside):
        if not any((function, "(") in zip(words, words[1:], strict=False) for words in texts):
            raise KernelTextError(f"the text for {name} must define the function {function}(...)")
    if all(words.count("{") != words.count("}") for words in texts):
        opened, closed = texts[0].count("{"), texts[0].count("}")
        raise KernelTextError(f"the text for {name} opens {opened} braces and closes {closed}")
