"""Call an answer so that it fails where it makes an integer of NaN, which C leaves undefined."""

import warnings

import numpy  # noqa: F401  an answer may use it, and its process may open no file
import torch
from torch.utils._python_dispatch import TorchDispatchMode

_CAST_BY_NUMPY = "invalid value encountered in cast"


class IntegerOfNaN(Exception):
    """The answer has converted NaN to an integer."""


def prepare():
    """Do what torch does in its first such mode, where it may still open files."""
    checked(torch.round, torch.ones(1))


def checked(answer, x):
    """What answer(x) returns. Raises IntegerOfNaN where torch or numpy converts a NaN."""
    try:
        with warnings.catch_warnings(), _NoIntegerOfNaN():
            warnings.filterwarnings("error", message=_CAST_BY_NUMPY)
            return answer(x)
    except RuntimeWarning as warning:
        raise IntegerOfNaN(str(warning)).with_traceback(warning.__traceback__) from None


class _NoIntegerOfNaN(TorchDispatchMode):
    """In this context a conversion of NaN to an integer raises IntegerOfNaN."""

    @classmethod
    def _should_skip_dynamo(cls):
        """Nothing compiles this mode; to skip it, torch would import its compiler for seconds."""
        return False

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        named = named or {}
        if function is torch.ops.aten._to_copy.default:
            _refuse_nan(arguments[0], named.get("dtype"))
        if function is torch.ops.aten.copy_.default:
            _refuse_nan(arguments[1], arguments[0].dtype)
        return function(*arguments, **named)


def _refuse_nan(source, dtype):
    if dtype and _is_integer(dtype) and source.is_floating_point() and source.isnan().any():
        raise IntegerOfNaN(f"NaN as {dtype}")


def _is_integer(dtype):
    return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
