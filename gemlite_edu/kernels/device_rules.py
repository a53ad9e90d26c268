"""What a GPU can reach: functions and variables that say so."""

import re

from gemlite_edu.kernels.declarations import closing, declarations, local_structs
from gemlite_edu.kernels.tokens import NUMBER, WORD

_LONGEST = 2000  # tokens of a declaration
_ON_A_GPU = ("__device__", "__global__")
_VARIABLE_OF_A_GPU = ("__device__", "__constant__", "__shared__", "__managed__")
_CASTS = (
    "static_cast",
    "reinterpret_cast",
    "const_cast",
    "sizeof",
    "alignof",
    "decltype",
    "alignas",
)
_SIXTEEN_BITS = ("half", "half2", "__half", "__half2", "__nv_bfloat16", "__nv_bfloat162", "X_T")
_BYTES = {"char": 1, "int8_t": 1, "uint8_t": 1, "bool": 1, "short": 2, "int16_t": 2, "uint16_t": 2}
_BYTES |= {"half": 2, "__half": 2, "X_T": 2, "int": 4, "unsigned": 4, "float": 4, "uint32_t": 4}
_BYTES |= {"int32_t": 4, "half2": 4, "double": 8, "long": 8, "int64_t": 8, "uint64_t": 8}
_BYTES |= {"float2": 8, "float4": 16, "uint2": 8, "uint4": 16, "int2": 8, "int4": 16}
_MOST_BYTES = {"__constant__": 64 * 1024, "__shared__": 48 * 1024}
_TYPES = frozenset(_BYTES) | {"const", "static", "auto", "signed", "size_t"}
_OF_A_LANE = ("threadIdx", "blockIdx", "blockDim", "gridDim")


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
    for declaration in every:
        if declaration.kind == "function":
            _check_function(declaration, of_a_gpu, used, refuse)
        else:
            _check_variable(declaration, used, chosen, refuse)
    constexpr = {d.name.text for d in functions if d.says("constexpr")}
    kept = [d for d in every if d.kind == "variable" and d.says("__constant__", "__device__")]
    others = {d.name.text for d in kept if not d.says("constexpr")}
    for variable in kept:
        _check_start_value(variable, constexpr, others, refuse)
    for function in functions:
        _check_body(function, constexpr, refuse)
    _check_sizes(code, refuse)


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
    if variable.says("[") and (name in chosen or not (variable.is_member and is_constexpr)):
        refuse(
            line,
            f"has an array outside its functions, which a GPU cannot read: put __constant__ "
            f"before {name}, or move it into the function",
        )
    if variable.rest[:1] and variable.rest[0].text == "[":
        refuse(line, f"has a lambda outside its functions, which a GPU cannot call: move {name}")
    if name not in used:
        return
    is_const = variable.says("const") and not variable.says("*")
    if not is_constexpr and not (is_const and not any(_calls(variable.rest))):
        refuse(
            line,
            f"has a variable outside its functions, which a GPU cannot reach: put __device__ or "
            f"__constant__ before {name}, or move it into the function",
        )


def _calls(tokens):
    """The words that are called, casts aside."""
    for index, token in enumerate(tokens[:-1]):
        if token.kind == WORD and tokens[index + 1].text == "(" and token.text not in _CASTS:
            yield token


def _check_start_value(variable, constexpr, others, refuse):
    name, value = variable.name.text, variable.rest
    called = [t for t in _calls(value) if t.text not in constexpr and t.text not in _BYTES]
    of_others = [t for t in value if t.kind == WORD and t.text in others]
    for token in [*called, *of_others]:
        refuse(
            token.line,
            f"gives {name} a start value by {token.text}, which a GPU cannot compute ahead of "
            "time: write the number",
        )
    if value and variable.says(*_SIXTEEN_BITS):
        refuse(
            variable.name.line,
            f"gives {name} a start value, which a GPU cannot convert to 16 bits ahead of time: "
            "make it a float, or an array of uint16_t with the bits",
        )


def _check_body(function, constexpr, refuse):
    """Refuse start values of shared memory, and words of memory at a variable of a function."""
    body, index = function.rest, 0
    start = 0
    while index < len(body):
        text = body[index].text
        if text in (";", "{", "}"):
            start = index + 1
        if text == "__shared__":
            _check_shared(body, index, refuse)
        if text in ("__constant__", "__device__") and index == start and _is_variable(body, index):
            refuse(body[index].line, f"says {text} inside a function: move the variable before it")
        if text == "static" and "__shared__" not in (t.text for t in body[start : index + 3]):
            _check_static(function, index, constexpr, refuse)
        index += 1


def _is_variable(body, index):
    for token in body[index : index + _LONGEST]:
        if token.text in ("(", "{"):
            return token.text == "{"
        if token.text in ("=", ";", "["):
            return True
    return False


def _check_shared(body, index, refuse):
    for place in range(index, min(index + _LONGEST, len(body))):
        if body[place].text in ("=", "{"):
            refuse(
                body[index].line,
                "gives shared memory a start value, which a GPU cannot: write it in the function, "
                "and put __syncthreads() behind",
            )
        if body[place].text in (";", "("):
            return


def _check_static(function, index, constexpr, refuse):
    body = function.rest
    last = min(index + _LONGEST, len(body))
    end = next((i for i in range(index, last) if body[i].text == ";"), last)
    equals = next((i for i in range(index, end) if body[i].text in ("=", "(", "{")), end)
    if equals == end or body[equals].text == "(":
        return
    value = body[equals:end]
    called = {token.text for token in _calls(value)} - constexpr
    parameters = {token.text for token in function.head if token.kind == WORD} - _TYPES
    for token in value:
        if token.text in called or token.text in parameters or token.text in _OF_A_LANE:
            refuse(
                token.line,
                f"gives a static variable a start value by {token.text}, which a GPU cannot "
                "compute ahead of time: leave the static out",
            )


def _check_sizes(code, refuse):
    for memory, most in _MOST_BYTES.items():
        total = 0
        for index, token in enumerate(code):
            if token.text != memory:
                continue
            total += _bytes_of(code, index)
            if total > most:
                refuse(
                    token.line,
                    f"has {total:,} bytes of {memory}, and a GPU has {most:,}",
                )


def _bytes_of(code, index):
    """The bytes of the arrays declared behind code[index], as far as their sizes are numbers."""
    count, size, place = 1, 0, index
    last = min(index + _LONGEST, len(code))
    while place < last and code[place].text not in ("=", ";", "{"):
        token = code[place]
        size = _BYTES.get(token.text, size)
        if token.text == "[":
            end = closing(code, place)
            count *= _value(code[place + 1 : end])
            place = end
        place += 1
    return count * size


def _value(tokens):
    """A number, or a product of numbers; 0 for what is neither."""
    product = 1
    for index, token in enumerate(tokens):
        if index % 2 == 1 and token.text == "*":
            continue
        number = re.fullmatch(r"(0x[0-9a-f]+|\d+)[ul]*", token.text.lower().replace("'", ""))
        if not number:
            return 0
        product *= int(number[1], 16 if number[1].startswith("0x") else 10)
    return product if tokens else 0
