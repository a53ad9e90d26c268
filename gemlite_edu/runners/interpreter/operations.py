"""Count what interpreted kernels compute: one operation for each element of a result."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

_KINDS = {
    "mask": ("create_and",),
    "shift": ("create_shl", "create_lshr", "create_ashr"),
    "convert": ("create_ui_to_fp", "create_si_to_fp"),
    "multiply": ("create_fmul",),
    "add": ("create_fadd", "create_fsub"),
}


@contextmanager
def count_operations() -> Iterator[Counter[str]]:
    """Within this context, count the operations of interpreted kernels as {kind: operations}.

    mask and shift take integers, convert turns an integer into a float, multiply and add take
    floats. Sums along an axis (tl.sum), addresses and truth values do not count.
    """
    from triton.runtime.interpreter import InterpreterBuilder

    counted = Counter({kind: 0 for kind in _KINDS})
    with ExitStack() as stack:
        for kind, names in _KINDS.items():
            for name in names:
                original = getattr(InterpreterBuilder, name)
                counting = _counting(original, kind, counted)
                stack.enter_context(patch.object(InterpreterBuilder, name, counting))
        yield counted


def _counting(original: Callable[..., Any], kind: str, counted: Counter[str]) -> Callable[..., Any]:
    def operation(builder: Any, *arguments: Any) -> Any:
        result = original(builder, *arguments)
        counted[kind] += result.data.size * (result.data.dtype != bool)
        return result

    return operation
