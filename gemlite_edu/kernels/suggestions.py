"""The names that a compiler may suggest for one that it does not know.

The host's compiler suggests names of its own libraries too, such as off_t for offset.
"""

import re

from gemlite_edu.kernels.host_words import BUILTINS

_SUGGESTED = re.compile(r"; did you mean '(\w+)'\?")
_OF_CUDA = re.compile(r"__\w+|(thread|block)Idx|(block|grid)Dim|warpSize|atomic[A-Z]\w*|u?int\d*_t")


def without_foreign_suggestion(message, kernel, line=""):
    """A compiler's message, without the suggestion of a name of neither the kernel nor CUDA.

    kernel: the whole text that was compiled. line: the one that the message is about; a name that
    it assigns to is no function of CUDA.
    """
    suggested = _SUGGESTED.search(message)
    if not suggested:
        return message
    (name,) = suggested.groups()
    unknown = re.search(r"'(\w+)' was not declared", message)
    is_assigned = unknown and re.search(rf"\b{unknown[1]}\s*=[^=]", line)
    is_of_cuda = not is_assigned and (_OF_CUDA.fullmatch(name) or name in BUILTINS)
    is_known = is_of_cuda or re.search(rf"\b{name}\b", kernel)
    return message if is_known else _SUGGESTED.sub("", message)
