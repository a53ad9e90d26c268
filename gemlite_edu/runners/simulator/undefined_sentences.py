"""Describe in words what a kernel does that C++ leaves undefined, after the name of the thread."""

import re

ORDER = "a shuffle takes the mask, the value and the offset, in this order"
_SHUFFLE = re.compile(r"\b__shfl_(?:up|down)_sync\(\s*([^,()]+(?:\(\))?),[^,]+,\s*([^,)]+)")
_MASK = r"FULL_WARP|0x|~|-1|\w*mask"
_OFFSET = r"\d+|\w*(?:offset|delta|distance|step)\w*"


def undefined_sentence(kind, *details):
    """What the thread did. details: as the runner writes them, see runner/undefined.h."""
    if kind in _OPERATIONS:
        return _overflow(kind, *details)
    return _SENTENCES[kind](*details)


def sentence_of_shuffle(value, line):
    """What a thread did that gave a shuffle's value for its mask or offset; None if `line` did not.

    value: the one that no unsigned integer holds. line: the learner's, with the conversion.
    """
    shuffle = _SHUFFLE.search(line)
    if not shuffle or re.fullmatch(_OFFSET, shuffle[2]) or re.search(r"unsigned|uint", line):
        return None
    if re.match(_MASK, shuffle[1]):
        return (
            f"gives a shuffle {value} as the lane offset: offset and value are exchanged, {ORDER}"
        )
    return f"gives a shuffle {value} as the mask or as the lane offset: {ORDER}"


def _shift(bits, count):
    return (
        f"shifts a number of {bits} bits by {count}: a GPU then shifts every bit out, and a CPU "
        f"takes the count modulo {bits}; shift by 0 to {int(bits) - 1}"
    )


def _overflow(operation, bits, a, b):
    sum_of = f"-({b})" if (operation, a) == ("-", "0") else f"{a} {operation} {b}"
    return (
        f"computes {sum_of} in a signed number of {bits} bits, which cannot hold the result: "
        "no compiler need wrap it round; compute it in unsigned"
    )


def _zero():
    return "divides an integer by zero"


def _cast(value, is_signed, bits):
    sign = "a signed" if is_signed == "1" else "an unsigned"
    gpu = "0" if value.endswith("nan") else "the nearest number that fits"
    return (
        f"converts {value} to {sign} integer of {bits} bits, which cannot hold it: a GPU gives "
        f"{gpu}, and a CPU something else; bring it into range before you convert"
    )


def _index(index, *words):
    declared = " ".join(words).strip("'")
    (size,) = re.findall(r"\[(\d+)\]", declared)[:1] or ["0"]
    last = int(size) - 1
    declared = re.sub(r"^(const )?Sim\w+(<.*>)? ", r"\1half, half2 or alike ", declared)
    return (
        f"uses index {index} of an array declared as {declared}, whose indices go from 0 to {last}"
        + _below_zero(int(index))
    )


def _below_zero(index):
    """What index a number without a sign was to be; empty if it was not below 0."""
    for bits in (32, 64):
        if 2 ** (bits - 1) <= index < 2**bits:
            return f" (that is {index - 2**bits} in a number without a sign, as threadIdx.x is)"
    return ""


def _object():
    return "reaches beyond the array or variable that its pointer points into"


def _unreachable():
    return "comes to a place that the text calls unreachable"


def _assumed():
    return (
        "assumes what is not so: nvcc believes a __builtin_assume, and compiles a kernel that may "
        "then do anything; leave it out"
    )


def _aligned():
    return (
        "says __builtin_assume_aligned of an address that has another alignment: nvcc believes it, "
        "and a GPU may then stop; leave it out"
    )


def _bool(value):
    return (
        f"reads a bool whose byte is {value}, and the byte of a bool is 0 or 1: a GPU may make "
        "another number of it than a CPU; read it as a uint8_t"
    )


_OPERATIONS = ("+", "-", "*", "/")
_SENTENCES = {
    "shift": _shift,
    "zero": _zero,
    "cast": _cast,
    "index": _index,
    "object": _object,
    "unreachable": _unreachable,
    "assumed": _assumed,
    "aligned": _aligned,
    "bool": _bool,
}
