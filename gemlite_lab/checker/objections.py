"""Objections to the way in which a right output is made; a wrong output comes before them."""

from contextlib import contextmanager
from contextvars import ContextVar

from gemlite_lab.checker.exercise import CheckFailed

_postponed = ContextVar("postponed", default=None)


@contextmanager
def objections_postponed():
    """Within this context an objection is no error yet; at its end the first one is raised."""
    sentences = []
    token = _postponed.set(sentences)
    try:
        yield
    finally:
        _postponed.reset(token)
    if sentences:
        raise CheckFailed(sentences[0])


def object_to(sentence):
    """Keep a sentence for the end of `objections_postponed`; outside of it, raise it."""
    sentences = _postponed.get()
    if sentences is None:
        raise CheckFailed(sentence)
    sentences.append(sentence)
