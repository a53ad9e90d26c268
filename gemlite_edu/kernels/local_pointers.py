"""Whether a CUDA text may make a pointer to a local variable, as far as its words show."""

from functools import lru_cache

from gemlite_edu.kernels.tokens import NEWLINE, NUMBER, WORD, tokens_of

_MAY_HIDE_ONE = {
    *("define", "typedef", "using", "template", "auto", "decltype"),
    *("struct", "class", "union", "std", "initializer_list", "->"),
}
_NO_TYPES = {"return", "case", "else"}


@lru_cache(256)  # a check asks it of one text in each of its cases
def may_point_to_locals(text):
    """False if the text takes no address, and if a subscript follows each array that it declares.

    The compiler's own checks find a subscript out of range, so such a text needs no other.
    """
    tokens = [token for token in tokens_of("the kernel", text) if token.kind != NEWLINE]
    words = [token.text for token in tokens]
    if not _MAY_HIDE_ONE.isdisjoint(words):
        return True
    return any(_takes_an_address(tokens, i) for i in range(len(tokens))) or any(
        _is_used_whole(name, words) for name in _declared_arrays(tokens)
    )


def _takes_an_address(tokens, at):
    """True if the token is an & in front of one operand, except in a reference to an array."""
    if tokens[at].text != "&":
        return False
    before = tokens[at - 1]
    has_left = before.kind in (WORD, NUMBER) and before.text not in _NO_TYPES
    is_operator = has_left or before.text in (")", "]")
    return not (is_operator or _is_reference([token.text for token in tokens], at))


def _is_reference(words, at):
    """True for the & of a reference to an array."""
    return words[at] == "&" and words[at + 2 : at + 4] == [")", "["]


def _declared_arrays(tokens):
    """The names in front of a bracket and behind a type, or behind what may end a type."""
    return {
        name.text
        for before, name, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if name.kind == WORD and after.text == "[" and _may_end_a_type(before)
    }


def _may_end_a_type(token):
    return token.text in (",", "*", ">", "}") or (
        token.kind == WORD and token.text not in _NO_TYPES
    )


def _is_used_whole(name, words):
    """True if an array is used without a subscript, or has two dimensions."""
    uses = [i for i, word in enumerate(words) if word == name and not _is_reference(words, i - 1)]
    return any(words[i + 1] != "[" or _behind_subscript(words[i + 1 :]) == "[" for i in uses)


def _behind_subscript(words):
    """The word after the bracket that closes the first."""
    depth = 0
    for word, following in zip(words, [*words[1:], ""], strict=True):
        depth += (word == "[") - (word == "]")
        if depth == 0:
            return following
    return ""
