"""Compile the functions of a kernel's text only where they are inlined.

A function that another file might call is compiled on its own too, which takes a fifth to a third
of a compile. But the kernel's text is all of its program.
"""

from gemlite_edu.kernels.local_pointers import may_point_to_locals

WHOLE_PROGRAM = "-fwhole-program"


def whole_program(replace):
    """The flags for a text in which a learner's texts, `replace` {hole: text} or None, stand.

    There are none for a text that may return the address of a local variable: the compiler warns of
    that only in a function that it compiles on its own.
    """
    texts = (replace or {}).values()
    return [] if any(map(may_point_to_locals, texts)) else [WHOLE_PROGRAM]
