"""A pytest plugin for processes that collect the same tests: each test runs in one of them alone.

A process begins a test by making a file for it, in the folder $GEMLITE_EDU_BEGUN.
"""

import hashlib
import os
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Run every test that no other process has begun; True ends the search for another loop."""
    if session.testsfailed:
        return None  # pytest's own loop says what could not be collected
    mine = _begun_here(session.items, Path(os.environ["GEMLITE_EDU_BEGUN"]))
    item = next(mine, None)
    while item is not None:
        following = next(mine, None)  # fixtures that both need are kept
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following
    return True


def _begun_here(items, folder):
    for item in items:
        try:
            (folder / hashlib.sha256(item.nodeid.encode()).hexdigest()).touch(exist_ok=False)
        except FileExistsError:
            continue
        yield item
