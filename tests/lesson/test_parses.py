"""What counts as Python that stops anywhere."""

import pytest

from gemlite_lab.lesson.parses import cut_unfinished, parses

UNFINISHED = {
    "an open line": "x = 1\ny = 2",
    "a header": "x = 1\ndef f(a):\n",
    "a header in a class": "x = 1\nclass A:\n    def f(self):\n",
    "a decorator": "x = 1\n@cache\n",
    "a try": "x = 1\ntry:\n    y = 2\n",
    "a bracket": "x = 1\nprint(2,\n      3,\n",
    "a string": 'x = 1\ny = """two\nthree\n',
    "a comment": "x = 1\nif x:\n    # why\n",
    "an else": "x = 1\nif x:\n    pass\nelse:\n",
}
MISTAKES = {
    "a bracket in the middle": "x = (1 2\ny = 3\n",
    "a bracket before a function": "x = 1\nprint(x\ndef f():\n    pass\n",
    "a try in the middle": "try:\n    x = 1\ny = 2\nz",
    "an indentation": "if x:\n        y = 1\n    z = 2\nw",
    "a string that ends nowhere": "x = 'a\ny = 1\n",
    "a NUL": "x = 1\n\0\n",
}


@pytest.mark.parametrize("text", UNFINISHED.values(), ids=UNFINISHED)
def test_an_unfinished_statement_is_cut(text):
    assert parses(text)
    assert cut_unfinished(text).startswith("x = 1\n")
    assert text.startswith(cut_unfinished(text))


@pytest.mark.parametrize("text", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_not_cut(text):
    assert cut_unfinished(text) is None
    assert not parses(text)


@pytest.mark.parametrize("text", ["", "x = 1", "def f():\n", "# a comment\n", '"""open\n'])
def test_a_text_without_a_finished_statement_does_not_count(text):
    assert not parses(text)


def test_finished_statements_stay_where_a_function_stops():
    text = "def f():\n    x = 1\n    return x\n    y = ("
    assert cut_unfinished(text) == "def f():\n    x = 1\n    return x\n"
