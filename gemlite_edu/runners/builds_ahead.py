"""Build the simulator's libraries of the next inspections while one of them runs."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context

_ONLY_BUILDS = ContextVar("whether an inspection ends once its library is built", default=False)


class _Built(Exception):
    """Raised in place of a run: the library is built."""


def end_if_only_built():
    """End an inspection that `built_ahead` has begun; its library is built now."""
    if _ONLY_BUILDS.get():
        raise _Built


@contextmanager
def built_ahead(inspections):
    """In this context a thread builds what `inspections`, functions that inspect, will need.

    It begins with the last of them, because the caller begins with the first, and in the caller's
    context, so that it builds the same. Their errors are left to the caller, who meets them again.
    """
    pool = ThreadPoolExecutor(1)
    for inspection in reversed(inspections):
        pool.submit(copy_context().run, _build, inspection)
    try:
        yield
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _build(inspection):
    _ONLY_BUILDS.set(True)
    inspection()
