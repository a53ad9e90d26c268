"""A function's text is found as `inspect` finds it, and without a look at every module."""

import inspect
import linecache

import pytest

from gemlite_lab.checker.text_of_code import text_of_code

CELL = '''
def plain(x):
    """Of two
    lines."""

    return x  # a comment

import functools

@functools.cache
@functools.wraps(plain)
def wrapped(
    x,
):
    def inner(y):
        return y

    return inner

short = [lambda x: x, lambda x: -x]
'''


@pytest.fixture
def cell():
    """The names of a notebook's cell."""
    lines, names = CELL.splitlines(keepends=True), {"__name__": "__main__"}
    linecache.cache["<cell 1>"] = len(CELL), None, lines, "<cell 1>"
    exec(compile(CELL, "<cell 1>", "exec"), names)
    yield names
    del linecache.cache["<cell 1>"]


def test_it_is_the_text_that_inspect_gives(cell):
    wrapped = cell["wrapped"].__wrapped__
    del wrapped.__wrapped__
    functions = [cell["plain"], wrapped, wrapped(1), *cell["short"], pytest.raises, text_of_code]
    for function in functions:
        assert text_of_code(function.__code__) == inspect.getsource(function.__code__)
    assert text_of_code(wrapped.__code__).startswith("@functools.cache\n@functools.wraps(plain)\n")


def test_no_module_is_looked_at(cell, monkeypatch):
    monkeypatch.setattr(inspect, "getmodule", None)
    assert text_of_code(cell["plain"].__code__).splitlines()[0] == "def plain(x):"


def test_a_text_that_nobody_keeps_is_an_error():
    for name in ("<nowhere>", __file__):
        function = eval(compile(1000 * "\n" + "lambda: 0", name, "eval"))
        with pytest.raises(OSError):
            text_of_code(function.__code__)
