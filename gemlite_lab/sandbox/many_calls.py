"""Call an answer many times for one message to its process."""

import inspect

import torch

from gemlite_lab.sandbox.unchanged import CheckFailed, same, unchanged


def prepare():
    """Nothing is to be done before the first call."""


def results(answer, arguments):
    """What the answer returns for each of these tuples of arguments, which it may not change.

    Raises CheckFailed for a list or dict that it returns in two calls.
    """
    signature = inspect.signature(answer)
    returned = [_result(answer, each, signature) for each in arguments]
    _check_that_none_is_shared(answer, arguments, returned)
    return returned


def _check_that_none_is_shared(answer, arguments, returned):
    first_call = {}
    for each, result in zip(arguments, returned, strict=True):
        for part in result if isinstance(result, tuple) else (result,):
            is_one = isinstance(part, list | dict)
            if is_one and not _are_equal(first_call.setdefault(id(part), each), each):
                kind = type(part).__name__
                raise CheckFailed(
                    f"{answer.__name__} returned one {kind} in two calls, so that the second call "
                    f"changed what the first one had returned: make a new {kind} in each call"
                )


def _are_equal(arguments, others):
    return len(arguments) == len(others) and all(
        same(one, other) if isinstance(one, torch.Tensor) else one == other
        for one, other in zip(arguments, others, strict=True)
    )


def _result(answer, arguments, signature):
    with unchanged(answer, _named(arguments, signature)):
        return answer(*arguments)


def _named(arguments, signature):
    """{name: argument}; those without a name of their own are numbered."""
    names = [*signature.parameters][: len(arguments)]
    unnamed = (f"number {place + 1}" for place in range(len(names), len(arguments)))
    return dict(zip([*names, *unnamed], arguments, strict=True))
