"""Let an inspected run make each load of its text, also those that a compiler would drop or move.

Where nothing uses what a load brings, the compiler drops the load; where only one side of a branch
uses it, the compiler moves it there. So does nvcc, and a report has to count what nvcc leaves. But
an answer that loads outside a tensor is wrong even if a compiler hides it.
"""

from contextlib import contextmanager
from contextvars import ContextVar

_KEPT = ContextVar("whether inspected runs make each load of their text", default=False)
# g++ drops no load that may throw an exception, and with these flags each load may throw one.
KEEPING_FLAGS = (
    "-fexceptions -fnon-call-exceptions -fno-delete-dead-exceptions -fno-tree-sink".split()
)


@contextmanager
def loads_kept():
    """In this context inspected kernels are built so that they make each load of their text."""
    token = _KEPT.set(True)
    try:
        yield
    finally:
        _KEPT.reset(token)


def flags_to_keep_loads():
    """The flags that this context asks for."""
    return KEEPING_FLAGS if _KEPT.get() else []
