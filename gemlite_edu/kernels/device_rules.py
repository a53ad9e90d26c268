"""What a GPU can reach: functions and variables that say so."""

import re

from gemlite_edu.kernels.declarations import closing, declarations, local_structs
from gemlite_edu.kernels.memory_rules import SIXTEEN_BITS, calls, check_memory
from gemlite_edu.kernels.tokens import NUMBER, WORD

_ON_A_GPU = ("__device__", "__global__")
_VARIABLE_OF_A_GPU = ("__device__", "__constant__", "__shared__", "__managed__")


def check_declarations(code, words_of_others, refuse):
    """Refuse what a GPU cannot reach in `code`, a view, by `refuse(line, what the text does)`.

    words_of_others: the words of the learner's other texts, which may use what this one declares.
    """
    every = list(declarations(code))
    functions = [d for d in every if d.kind == "function"]
    for function in functions:
        every += local_structs(function.rest)
    functions = [d for d in every if d.kind == "function"]
    used = {token.text for d in functions for token in d.rest if token.kind == WORD}
    used |= words_of_others
    chosen = {token.text for d in functions for token in _not_at_a_number(d.rest)}
    of_a_gpu = {_signature(d) for d in functions if d.says(*_ON_A_GPU)}
    _check_virtual(functions, refuse)
    for declaration in every:
        if declaration.kind == "function":
            _check_function(declaration, of_a_gpu, used, refuse)
        else:
            _check_variable(declaration, used, chosen, refuse)
    check_memory(code, every, refuse)


def _not_at_a_number(body):
    """The words that are used otherwise than as word[number]."""
    for index, token in enumerate(body):
        kinds = [t.kind if t.kind == NUMBER else t.text for t in body[index + 1 : index + 4]]
        if token.kind == WORD and kinds != ["[", NUMBER, "]"]:
            yield token


def _signature(function):
    """The name and the types: of the parameters, their names and start values do not matter."""
    index = next(i for i, token in enumerate(function.head) if token is function.name)
    opening = next(
        (i for i in range(index, len(function.head)) if function.head[i].text == "("), index
    )
    inside = [t.text for t in function.head[opening + 1 : closing(function.head, opening)]]
    parameters = re.split(r" ,", " " + " ".join(inside))
    types = [re.sub(r"=.*", "", parameter).split() for parameter in parameters]
    return function.name.text, tuple(tuple(words[:-1] or words) for words in types)


def _check_virtual(functions, refuse):
    """Refuse a method for another side than the virtual one that it overrides."""
    virtual = {_key_of_method(f) for f in functions if f.says("virtual", "override", "final")}
    sides = {}
    for method in functions:
        key = _key_of_method(method)
        on_gpu, on_host = method.says("__device__"), method.says("__host__")
        side = (on_gpu, on_host or not on_gpu)
        if key in virtual and sides.setdefault(key, side) != side:
            name = method.name.text
            refuse(
                method.name.line,
                f"has a virtual {name}(...) and another that overrides it, and only one of them is "
                f"for a GPU alone: say __device__ before each {name}(...)",
            )


def _key_of_method(method):
    words = [token.text for token in method.head]
    is_const = "const" in words[len(words) - words[::-1].index(")") :] if ")" in words else False
    return *_signature(method), is_const


def _check_function(function, of_a_gpu, used, refuse):
    name = function.name.text
    if function.says(*_ON_A_GPU) or _signature(function) in of_a_gpu:
        return
    is_operator = function.says("operator")
    is_called = name in used or is_operator
    if (function.is_member or function.says("constexpr") or not function.rest) and not is_called:
        return
    refuse(
        function.name.line,
        f"must say __device__ before {name}(...): a GPU can call nothing else",
    )


def _check_variable(variable, used, chosen, refuse):
    name, line = variable.name.text, variable.name.line
    if variable.says(*_VARIABLE_OF_A_GPU) or (variable.is_member and not variable.says("static")):
        return
    is_constexpr = variable.says("constexpr")
    is_python = [t.kind if t.kind == NUMBER else t.text for t in variable.rest[:2]] == ["[", NUMBER]
    is_array = is_python or variable.says("[")
    if is_array and (name in chosen or not (variable.is_member and is_constexpr)):
        refuse(
            line,
            f"has an array outside its functions, which a GPU cannot read: put __constant__ "
            f"before {name}, or move it into the function",
        )
    if variable.rest[:1] and variable.rest[0].text == "[":
        refuse(line, f"has a lambda outside its functions, which a GPU cannot call: move {name}")
    if name not in used:
        return
    is_const = variable.says("const") and not variable.says("*", "volatile", *SIXTEEN_BITS)
    if not is_constexpr and not (is_const and not any(calls(variable.rest))):
        refuse(
            line,
            f"has a variable outside its functions, which a GPU cannot reach: put __device__ or "
            f"__constant__ before {name}, or move it into the function",
        )
