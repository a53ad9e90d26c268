"""Call an answer many times for one message to its process."""

import inspect

from gemlite_lab.sandbox.unchanged import unchanged


def prepare():
    """Nothing is to be done before the first call."""


def results(answer, arguments):
    """What the answer returns for each of these tuples of arguments, which it may not change."""
    signature = inspect.signature(answer)
    return [_result(answer, each, signature) for each in arguments]


def _result(answer, arguments, signature):
    with unchanged(answer, _named(arguments, signature)):
        return answer(*arguments)


def _named(arguments, signature):
    """{name: argument}; those without a name of their own are numbered."""
    names = [*signature.parameters][: len(arguments)]
    unnamed = (f"number {place + 1}" for place in range(len(names), len(arguments)))
    return dict(zip([*names, *unnamed], arguments, strict=True))
