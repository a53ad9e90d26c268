"""Instructions of a GPU in a text that runs on a CPU too: asm says nothing there, or is refused."""

import re

from gemlite_edu.kernels.declarations import closing
from gemlite_edu.kernels.tokens import STRING

_OF_A_GPU = re.compile(r'"(?:[=+]?&?[hrlqfdn]|memory)"')


def check_asm(code, index, refuse):
    """Refuse the asm at `index` unless its text is empty and its operands are those of a GPU."""
    if not is_empty_asm(code, index):
        refuse(
            code[index].line,
            "has asm, which is for a GPU, and it runs on a CPU too: put the asm between "
            "#ifdef __CUDA_ARCH__ and #else, and the same in C++ between #else and #endif",
        )
    opening = next(place for place in range(index, len(code)) if code[place].text == "(")
    for token in code[opening + 2 : opening + closing(code[opening:], 0)]:
        if token.kind == STRING and not _OF_A_GPU.fullmatch(token.text):
            refuse(token.line, f"has asm with {token.text}, which a GPU does not have")


def is_empty_asm(code, index):
    """True for asm volatile("" : ...) at `index`, which only keeps a compiler from moving code."""
    rest = [token for token in code[index + 1 : index + 5] if token.text.strip("_") != "volatile"]
    is_empty = len(rest) > 2 and rest[0].text == "(" and rest[1].text == '""'
    return is_empty and rest[2].kind != STRING
