"""The numbers in recorded bytes, where the type of what holds them is known."""

import re

import torch

_VECTOR = re.compile(r"(\w+?)([234])")
_DTYPES = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "__half": torch.float16,
    "__nv_bfloat16": torch.bfloat16,
    "int": torch.int32,
    "int32_t": torch.int32,
    "unsigned": torch.uint32,
    "uint32_t": torch.uint32,
    "int8_t": torch.int8,
    "uint8_t": torch.uint8,
}
_SHUFFLED = (None, torch.float32, torch.float64, torch.int32, torch.uint32)  # SimNumber
_LONG = {torch.int32: torch.int64, torch.uint32: torch.uint64}
_DECLARED = re.compile(
    r"__shared__\s+(?:__align__\s*\([^)]*\)\s*)?(?:volatile\s+)?([\w:]+)\s+(\w+)\s*[\[;=]"
)
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([\w:]+)\s*;")


def dtypes_of_arrays(source, defines):
    """{name: dtype} of the shared arrays whose declared type is a number's.

    defines: {macro: value}, where a macro may name a type.
    """
    aliases = dict(_ALIAS.findall(source)) | {name: str(value) for name, value in defines.items()}
    found = {}
    for type_name, name in _DECLARED.findall(source):
        for _ in range(len(aliases)):
            type_name = aliases.get(type_name, type_name)
        vector = _VECTOR.fullmatch(type_name)
        if vector and type_name not in _DTYPES:
            type_name = vector[1]
        if type_name in _DTYPES:
            found[name] = _DTYPES[type_name]
    return found


def numbers_in(raw, dtype):
    """The numbers of `dtype` in the bytes `raw`, or () if they do not fill whole ones."""
    if not raw or dtype is None or len(raw) % dtype.itemsize:
        return ()
    return tuple(torch.frombuffer(bytearray(raw), dtype=dtype).tolist())


def shuffled(raw, number):
    """(what a lane gives, what it takes), each a tuple of one number, or () for an unknown type.

    number: the shim's SimNumber, with 8 bytes for each in `raw`.
    """
    dtype = _SHUFFLED[number]
    if dtype is None or not raw:
        return (), ()
    return tuple(numbers_in(half[: dtype.itemsize], dtype) for half in (raw[:8], raw[8:]))
