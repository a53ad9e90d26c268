"""The functions and variables that a text declares outside functions and in its structs."""

from typing import NamedTuple

from gemlite_edu.kernels.tokens import NUMBER, SIGN, STRING, WORD, Token

CLASS_KEYS = ("struct", "class", "union", "enum")
_OPEN, _CLOSE = "([{", ")]}"
_NO_DECLARATION = ("using", "static_assert", "public", "private", "protected")
_NO_FUNCTION = frozenset(
    """__attribute__ __attribute alignas __align__ __launch_bounds__ decltype noexcept throw sizeof
    alignof explicit typeof __typeof__ __declspec""".split()
)
_TYPES = frozenset("void bool char short int long float double unsigned signed auto const".split())


class Declaration(NamedTuple):
    """One declaration, with braces and what is in them taken out of its head.

    kind: "function" or "variable". head: its tokens up to the body or the start value. name: the
    token that it declares. rest: the tokens of the body or start value. is_member: of a struct.
    """

    kind: str
    head: list
    name: object
    rest: list
    is_member: bool

    def says(self, *words):
        """True if one of these words is in the head."""
        return any(token.text in words for token in self.head)


def declarations(code, is_member=False):
    """The declarations of a view, in order, and those in its namespaces and structs."""
    index = 0
    while index < len(code):
        start = index
        index = yield from _one(code, index, is_member)
        index = max(index, start + 1)


def local_structs(body):
    """The declarations in the structs that a function's body defines."""
    for index, token in enumerate(body):
        if token.text in CLASS_KEYS[:3]:
            opening = next((i for i in range(index, len(body)) if body[i].text in "{;()=,"), None)
            if opening is not None and body[opening].text == "{":
                yield from declarations(body[opening + 1 : closing(body, opening)], is_member=True)


def closing(code, index):
    """Where the bracket that opens at `index` is closed; the end of the code if nowhere."""
    depth = 0
    for place in range(index, len(code)):
        text = code[place].text
        if code[place].kind in (WORD, STRING):
            continue
        depth += (text in _OPEN) - (text in _CLOSE)
        if depth == 0:
            return place
    return len(code)


def _one(code, index, is_member):
    text = code[index].text
    if text in (";", "}") or (is_member and text == ":"):
        return index + 1
    if text in ("public", "private", "protected"):
        return index + 2
    if text == "template":
        after = behind_angles(code, index + 1)
        return after if after > index + 1 else index + 1
    if text in ("namespace", "inline") and _opens_namespace(code, index):
        opening = next(i for i in range(index, len(code)) if code[i].text == "{")
        end = closing(code, opening)
        yield from declarations(code[opening + 1 : end])
        return end + 1
    if text == "extern" and code[index + 1 : index + 2] and code[index + 1].kind == STRING:
        if index + 2 < len(code) and code[index + 2].text == "{":
            end = closing(code, index + 2)
            yield from declarations(code[index + 3 : end])
            return end + 1
    if text == "typedef":
        end = _end_of_statement(code, index)
        yield from local_structs(code[index:end])
        return end + 1
    if text in _NO_DECLARATION or text == "namespace":
        return _end_of_statement(code, index) + 1
    return (yield from _declaration(code, index, is_member))


def _opens_namespace(code, index):
    place = index + (code[index].text == "inline")
    if place >= len(code) or code[place].text != "namespace":
        return False
    place += 1
    while place < len(code) and (code[place].kind == WORD or code[place].text in ("::", "[", "]")):
        place += 1
    return place < len(code) and code[place].text == "{"


def _end_of_statement(code, index):
    while index < len(code) and code[index].text != ";":
        index = closing(code, index) + 1 if code[index].text in _OPEN else index + 1
    return index


def behind_angles(code, index):
    """Where the list in < and > ends that begins at `index`; `index` if none does."""
    if index >= len(code) or code[index].text != "<":
        return index
    depth = 0
    while index < len(code):
        text = code[index].text
        if text in ("(", "[", "{"):
            index = closing(code, index)
        depth += {"<": 1, ">": -1}.get(text, 0)
        index += 1
        if depth == 0:
            break
    return index


def _declaration(code, index, is_member):
    """The declaration that begins here; returns where the next one begins."""
    head, has_list, parameters = [], False, False
    while index < len(code):
        token = code[index]
        text = token.text
        is_operator = bool(head) and head[-1].text == "operator"
        if text == ";":
            if head:
                yield from _declared(head, [], is_member)
            return index + 1
        if text == "=" and not is_operator and not _ends_with_operator(head):
            end = _end_of_statement(code, index)
            yield from _declared(head, code[index + 1 : end], is_member)
            return end + 1
        if text == ":" and parameters:
            has_list = True
        if text == "{":
            end = closing(code, index)
            if has_list and code[index - 1].text not in (")", "}"):  # a member's start value
                index = end + 1
                continue
            inside = code[index + 1 : end]
            if _is_class(head):
                if not any(t.text == "enum" for t in head):
                    yield from declarations(inside, is_member=True)
                behind = _end_of_statement(code, end + 1)
                declared = code[end + 1 : behind]
                if declared and declared[0].text != "=" and declared[0].kind == WORD:
                    yield Declaration("variable", [*head, *declared], declared[0], [], is_member)
                return behind + 1
            yield from _declared(head, inside, is_member, has_body=True)
            return end + 1
        if text in ("(", "["):
            end = closing(code, index)
            parameters = parameters or text == "("
            head += code[index : end + 1]
            index = end + 1
            continue
        head.append(token)
        index += 1
    if head:  # what nothing ends: it may be Python
        yield from _declared(head, head, is_member, has_body=True)
    return index


def _ends_with_operator(head):
    return len(head) > 1 and head[-2].text == "operator"


def _is_class(head):
    plain = _without_groups(head)
    return any(token.text in CLASS_KEYS for token in plain) and _function_name(head) is None


def _without_groups(head):
    found, depth = [], 0
    for token in head:
        depth -= token.text in (")", "]") and token.kind not in (WORD, STRING)
        if depth == 0:
            found.append(token)
        depth += token.text in ("(", "[") and token.kind not in (WORD, STRING)
    return found


def _function_name(head):
    """The token before the parameters of a function; None for a variable."""
    depth = 0
    for index, token in enumerate(head):
        if token.text == "(" and depth == 0 and index:
            before = head[index - 1]
            if head[index + 1 : index + 2] and head[index + 1].kind in (NUMBER, STRING):
                return None  # a variable with its start value
            is_name = before.kind == WORD and before.text not in _NO_FUNCTION
            is_pointer = index + 1 < len(head) and head[index + 1].text in ("*", "&")
            if is_name and not (before.text in _TYPES and is_pointer and not _operator(head)):
                return before
            if _operator(head[:index]):
                return before
        depth += token.text in ("(", "[")
        depth -= token.text in (")", "]")
    return None


def _operator(head):
    return any(token.text == "operator" for token in head)


def _declared(head, rest, is_member, has_body=False):
    name = _function_name(head)
    if name is not None:
        is_plain = not has_body and [token.text for token in rest] in (["default"], ["delete"])
        if not is_plain:
            yield Declaration("function", head, name, rest, is_member)
        return
    pointer = next((i for i in range(len(head) - 2) if _opens_pointer(head, i)), None)
    if pointer is not None:
        yield Declaration("variable", head, head[pointer + 2], rest, is_member)
        return
    plain = _without_groups(head)
    words = [token for token in plain if token.kind == WORD]
    has_type = len(words) > 1 or [token.text for token in rest[:1]] == ["["]  # or is Python
    if plain and plain[0].text != "friend" and has_type and not _is_forward(plain):
        for name in _declarators([*plain, Token(SIGN, "=", 0), *_without_groups(rest)]):
            yield Declaration("variable", head, name, rest, is_member)


def _opens_pointer(head, index):
    """True where `(*name` begins, of a pointer to a function."""
    return [t.text for t in head[index : index + 2]] == ["(", "*"] and head[index + 2].kind == WORD


def _declarators(tokens):
    """The names that one declaration gives variables: each the last word before a , or a =."""
    is_value, last = False, None
    for token in [*tokens, Token(SIGN, ",", 0)]:
        if token.text == "," and last is not None:
            yield last
        if token.text in (",", "="):
            is_value, last = token.text == "=", last if token.text == "=" else None
        elif token.kind == WORD and not is_value and token.text not in _TYPES | _NO_FUNCTION:
            last = token


def _is_forward(plain):
    return plain[0].text in CLASS_KEYS and len(plain) == 2
