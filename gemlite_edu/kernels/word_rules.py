"""Words that the simulator's compiler takes and a GPU's compiler refuses, or reads otherwise."""

from gemlite_edu.kernels.asm_rules import check_asm
from gemlite_edu.kernels.declarations import behind_angles, closing
from gemlite_edu.kernels.directive_rules import (
    OF_THE_SIMULATOR,
    VECTOR,
    check_pragma,
    is_asm,
    text_of_string,
)
from gemlite_edu.kernels.host_words import (
    ATTRIBUTES,
    BUILTINS,
    BUILTINS_OF_CONSTANTS,
    HOST_FUNCTIONS,
    HOST_MATH,
    HOST_STD,
    NOT_IN_CUDA,
)
from gemlite_edu.kernels.tokens import NUMBER, ODD, STRING, WORD, tokens_of

_LONGEST_LIST = 300  # tokens of a list of attributes
_NO_TYPE = frozenset(
    """return else case goto throw sizeof new delete not and or xor do typedef using namespace
    co_return""".split()
)


def check_words(code, refuse):
    """Refuse words of `code`, a view without what only a GPU compiles, by `refuse(line, what)`."""
    for index, token in enumerate(code):
        before = code[index - 1].text if index else ""
        after = code[index + 1].text if index + 1 < len(code) else ""
        if token.kind == ODD and token.text[0] in "\"'":
            refuse(token.line, f"opens a quote that nothing closes: {token.text[:20]}")
        if token.kind == ODD:
            refuse(token.line, f"has a sign that C++ does not have: {token.text!r}")
        if token.kind == WORD:
            _check_word(code, index, before, after, refuse)
        if after == "[" and _is_declared_empty(code, index):
            refuse(token.line, f"declares {token.text} with no elements, which a GPU cannot")
        if token.text == "goto" and after == "*":
            refuse(token.line, "computes where its goto leads, which a GPU cannot")
    _check_attributes(code, refuse)
    _check_host_functions(code, refuse)
    _check_vectors(code, refuse)


def _is_declared_empty(code, index):
    before, inside = code[max(index - 1, 0)], [token.text for token in code[index + 2 : index + 4]]
    is_type = before.kind == WORD and before.text not in _NO_TYPE
    return code[index].kind == WORD and is_type and inside == ["0", "]"]


def _check_word(code, index, before, after, refuse):
    token, word = code[index], code[index].text
    if word in NOT_IN_CUDA and not (word == "throw" and (before, after) == (")", "(")):
        refuse(token.line, f"says {word}, {NOT_IN_CUDA[word]}")
    if is_asm(token):
        check_asm(code, index, refuse)
    if word == "_Pragma":
        _check_pragma_operator(code[index + 1 : index + 4], token.line, refuse)
    if OF_THE_SIMULATOR.fullmatch(word):
        refuse(token.line, f"uses {word}, a name of the simulator, which a GPU does not have")
    if word.startswith(("__has_", "__sync_", "__atomic_", "__sanitizer_", "__tsan_", "__cxa_")):
        refuse(token.line, f"uses {word}, which a GPU's compiler does not have")
    is_used = after in ("(", ")")  # called, and not given away
    if word.startswith("__builtin_") and not (is_used and _has_builtin(code, index)):
        refuse(token.line, f"uses {word}, which a GPU's compiler does not have")
    if before == "::" and index > 1 and code[index - 2].text == "std":
        _check_std(code, index, refuse)
    if word in ("__device__", "__host__") and before == "]" != code[index - 2].text:
        refuse(token.line, f"says {word} at a lambda: leave it out, the lambda is where it stands")


def _has_builtin(code, index):
    """True for a function of the compiler that nvcc knows too, with what it takes there."""
    name = code[index].text.removeprefix("__builtin_")
    argument = [token.kind for token in code[index + 2 : index + 3]]
    behind = [token.text for token in code[index + 3 : index + 4]]
    is_constant = argument in ([NUMBER], [STRING]) and behind == [")"]
    return name in BUILTINS or (name in BUILTINS_OF_CONSTANTS and is_constant)


def _check_std(code, index, refuse):
    word, line = code[index].text, code[index].line
    behind = code[behind_angles(code, index + 1) :][:4]
    texts = [token.text for token in behind]
    is_pair = word == "pair" and "::" not in texts[:1] and "(" not in texts[:1]
    if word in HOST_STD and not is_pair:
        refuse(line, f"uses std::{word}, which a GPU cannot call: leave the std:: out")
    if texts[:1] == ["::"] and texts[2:3] == ["("]:
        refuse(line, f"calls {texts[1]}() of std::{word}, which a GPU cannot: write the number")


def _check_pragma_operator(tokens, line, refuse):
    text = text_of_string(tokens[1]) if len(tokens) > 1 else None
    if text is None or tokens[0].text != "(":
        refuse(line, 'needs the words of its _Pragma as they are, like _Pragma("unroll")')
    words = [token.text for token in tokens_of("_Pragma", text.replace("\\", ""))]
    check_pragma(words, line, refuse)


def _check_attributes(code, refuse):
    for index, token in enumerate(code):
        is_list = token.text == "[" == (code[index + 1].text if index + 1 < len(code) else "")
        if token.text not in ("__attribute__", "__attribute") and not is_list:
            continue
        start = index if is_list else index + 1
        end = closing(code[start : start + _LONGEST_LIST], 0)
        if end == _LONGEST_LIST:
            refuse(token.line, "has a list of attributes without an end")
        for name in _listed(code[start : start + end]):
            if name.text.strip("_") not in ATTRIBUTES:
                refuse(name.line, f"says {name.text}, an attribute for a host's compiler")


def _listed(tokens):
    """The words inside two brackets, the first one behind a comma each."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        before, after = tokens[index - 1].text, tokens[index + 1 : index + 2]
        is_first = before in ("(", "[", ",", "::") and not (after and after[0].text == "::")
        if depth == 2 and token.kind == WORD and is_first:
            yield token


def _check_host_functions(code, refuse):
    own, own_functions = _own_names(code)
    for index, token in enumerate(code):
        word = token.text
        if word not in HOST_FUNCTIONS and not HOST_MATH.fullmatch(word):
            continue
        before = code[index - 1].text if index else ""
        is_call = index + 1 < len(code) and code[index + 1].text == "("
        if before not in (".", "->") and word not in (own_functions if is_call else own):
            refuse(token.line, f"uses {word}, a function of the host, which a GPU cannot call")


def _check_vectors(code, refuse):
    """Refuse float4(1, 2, 3, 4), (float4)(1) and their like: a vector has no constructor."""
    for index, token in enumerate(code):
        if not VECTOR.fullmatch(token.text):
            continue
        behind = [t.text for t in code[index + 1 : index + 3]]
        start = index + 1
        if behind[:1] == [")"] and code[index - 1].text == "(":
            start += 1  # a cast
        elif behind == [">", "("] and code[index - 2].text == "static_cast":
            start += 1
        elif len(behind) == 2 and code[index + 1].kind == WORD and behind[1] == "(":
            start += 1  # a variable
        while start < len(code) and code[start].text == "(":
            start += 1
        is_open = start > index + 1 and code[start - 1].text in ("(", ")")
        if is_open and code[start : start + 1] and code[start].kind == NUMBER:
            refuse(
                token.line,
                f"makes a {token.text} of numbers in parentheses, which CUDA's vectors cannot: "
                f"write make_{token.text}(...)",
            )


def _own_names(code):
    """(the names that the text declares, those of them that are functions or lambdas)"""
    names, functions = set(), set()
    for index in range(1, len(code) - 2):
        before, token, after = code[index - 1 : index + 2]
        if token.kind == WORD and before.kind == WORD and before.text not in _NO_TYPE:
            names.add(token.text)
            is_function = (
                token.text in HOST_FUNCTIONS and after.text == "(" and _has_body(code, index)
            )
            if is_function or (after.text == "=" and code[index + 2].text == "["):
                functions.add(token.text)
    return names, functions


def _has_body(code, index):
    end = index + 1 + closing(code[index + 1 : index + _LONGEST_LIST], 0)
    behind = code[end + 1].text if end + 1 < len(code) else ""
    return behind in ("{", "const", "noexcept", "->", "volatile")
