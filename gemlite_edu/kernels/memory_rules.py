"""What may be kept in which memory of a GPU: start values, and how many bytes."""

import re

from gemlite_edu.kernels.declarations import closing
from gemlite_edu.kernels.tokens import WORD

_LONGEST = 2000  # tokens of a declaration
_CASTS = frozenset(
    "static_cast reinterpret_cast const_cast sizeof alignof decltype alignas".split()
)
SIXTEEN_BITS = ("half", "half2", "__half", "__half2", "__nv_bfloat16", "__nv_bfloat162")
_BYTES = {"char": 1, "int8_t": 1, "uint8_t": 1, "bool": 1, "short": 2, "int16_t": 2, "uint16_t": 2}
_BYTES |= {"half": 2, "__half": 2, "X_T": 2, "int": 4, "unsigned": 4, "float": 4, "uint32_t": 4}
_BYTES |= {"int32_t": 4, "half2": 4, "double": 8, "long": 8, "int64_t": 8, "uint64_t": 8}
_BYTES |= {"float2": 8, "float4": 16, "uint2": 8, "uint4": 16, "int2": 8, "int4": 16}
_MOST_BYTES = {"__constant__": 64 * 1024, "__shared__": 48 * 1024}
_TYPES = frozenset(_BYTES) | {"const", "static", "auto", "signed", "size_t"}
_BEHIND_PARAMETERS = ("{", "const", "noexcept", "->")
_OF_A_LANE = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def check_memory(code, declared, refuse):
    """Refuse start values and sizes that a GPU cannot have, of the `declared` of `code`."""
    functions = [d for d in declared if d.kind == "function"]
    constexpr = {d.name.text for d in functions if d.says("constexpr")}
    kept = [d for d in declared if d.kind == "variable" and d.says("__constant__", "__device__")]
    others = {d.name.text for d in kept if not d.says("constexpr")}
    constructors = {d.name.text for d in functions if d.is_member and not d.says("constexpr")}
    for variable in kept:
        _check_start_value(variable, constexpr, others, refuse)
    for variable in (d for d in declared if d.kind == "variable" and not d.is_member):
        _check_constructor(variable, constructors, refuse)
    for function in functions:
        _check_body(function, constexpr, refuse)
    _check_sizes(code, refuse)


def calls(tokens):
    """The words that are called, casts aside."""
    for index, token in enumerate(tokens[:-1]):
        if token.kind == WORD and tokens[index + 1].text == "(" and token.text not in _CASTS:
            yield token


def _check_start_value(variable, constexpr, others, refuse):
    name, value = variable.name.text, variable.rest
    called = [t for t in calls(value) if t.text not in constexpr and t.text not in _BYTES]
    behind = zip([None, *value], value, strict=False)
    of_others = [t for before, t in behind if t.text in others and _is_read(before)]
    for token in [*called, *of_others]:
        refuse(
            token.line,
            f"gives {name} a start value by {token.text}, which a GPU cannot compute ahead of "
            "time: write the number",
        )
    if "".join(t.text for t in value) not in ("", "{}") and variable.says(*SIXTEEN_BITS):
        refuse(
            variable.name.line,
            f"gives {name} a start value, which a GPU cannot convert to 16 bits ahead of time: "
            "make it a float, or an array of uint16_t with the bits",
        )


def _is_read(before):
    return before is None or before.text != "&"


def _check_constructor(variable, constructors, refuse):
    types = [token.text for token in variable.head if token.text in constructors]
    if types and variable.name.text not in types:
        refuse(
            variable.name.line,
            f"constructs {variable.name.text} by {types[0]}(), which a GPU cannot do ahead of "
            f"time: leave the constructor out of {types[0]}",
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
        if body[place].text in ("struct", "union", "class"):
            return
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
    head, value = body[index:equals], _without_sizeof(body[equals:end])
    if _has_parameters(body, equals):
        return  # a static function of a struct
    if any(token.text in ("__device__", "__host__") for token in head) or not value:
        return
    called = {token.text for token in calls(value)} - constexpr
    parameters = {token.text for token in function.head if token.kind == WORD} - _TYPES
    computed = called | parameters | _variables(body[:index]) | set(_OF_A_LANE)
    is_half = any(token.text in SIXTEEN_BITS for token in head)
    for token in value:
        if token.text in computed or is_half:
            refuse(
                token.line,
                f"gives a static variable a start value by {token.text}, which a GPU cannot "
                "compute ahead of time: leave the static out",
            )


def _has_parameters(body, index):
    """True if a function is defined whose parameters begin at `index`."""
    if index >= len(body) or body[index].text != "(":
        return False
    behind = closing(body, index) + 1
    return behind < len(body) and body[behind].text in _BEHIND_PARAMETERS


def _without_sizeof(tokens):
    found, index = [], 0
    while index < len(tokens):
        if tokens[index].text in ("sizeof", "alignof"):
            index = closing(tokens, index + 1)
        else:
            found.append(tokens[index])
        index += 1
    return found


def _variables(body):
    """The names that plain variables of a function's body have: those without const."""
    found, is_const = set(), False
    for before, token in zip(body, body[1:], strict=False):
        if before.text in (";", "{", "}", "("):
            is_const = False
        is_const = is_const or before.text in ("const", "constexpr", "return", "using", "typedef")
        if token.kind == WORD and before.text in _TYPES and not is_const:
            found.add(token.text)
    return found - _TYPES


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
