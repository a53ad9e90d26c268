"""How wrong answers are stored: as edits of right ones."""

import inspect

import pytest

from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.wrong_answers import as_answer, wrong_answers_to

PLAIN = "def pack(W_q):\n    a = 1\n\n    b = 2\n    a = 1\n    return a + b\n"


@pytest.fixture
def bank(tmp_path):
    """Writes the wrong answers to pack, and reads them."""
    (tmp_path / "right" / "pack").mkdir(parents=True)
    (tmp_path / "right" / "pack" / "plain.py").write_text(PLAIN)
    (tmp_path / "wrong").mkdir()

    def read(text):
        (tmp_path / "wrong" / "pack.diff").write_text(text)
        return wrong_answers_to("pack", tmp_path)

    return read


def edited(bank, *edits):
    return bank("\n".join(("@@ one: plain.py", "mistake: it is wrong", *edits)) + "\n")["one"].text


def test_a_line_goes_and_another_comes(bank):
    assert edited(bank, "-    b = 2", "+    b = 3", "+") == PLAIN.replace("b = 2", "b = 3\n")


def test_the_next_such_line_is_meant(bank):
    assert edited(bank, "-    a = 1") == PLAIN.replace("    a = 1\n", "", 1)
    assert edited(bank, "     b = 2", "-    a = 1") == PLAIN.replace("2\n    a = 1\n", "2\n")
    assert edited(bank, "-    a = 1", "-    a = 1").count("a = 1") == 0


def test_a_line_may_come_first_and_behind_one_that_stays(bank):
    assert edited(bank, "+import math") == f"import math\n{PLAIN}"
    assert edited(bank, "     b = 2", "+    c = 3") == PLAIN.replace("= 2\n", "= 2\n    c = 3\n")


def test_without_a_right_answer_it_is_whole(bank):
    answers = bank("@@ a\nmessage: said\n+def pack():\n+\n+    pass\n\n@@ b\nmistake: m\n+x = 1\n")
    assert answers["a"].text == "def pack():\n\n    pass\n" and answers["b"].text == "x = 1\n"
    assert [answer.diagnosis for answer in answers.values()] == ["said", "m"]
    assert [answer.is_named_by_its_output for answer in answers.values()] == [False, True]


def test_what_does_not_fit_is_refused(bank):
    with pytest.raises(ValueError, match="pack, one does not edit plain.py: '    c = 3' is not in"):
        edited(bank, "-    c = 3")
    with pytest.raises(ValueError, match="pack, one does not edit plain.py"):
        edited(bank, "-    b = 2", "-    b = 2")
    for text in ("@@ one\ndiagnosis: it\n+x\n", "@@ one two\nmistake: it\n+x\n"):
        with pytest.raises(ValueError, match="pack: expected '@@ name: right answer' and a diag"):
            bank(text)


def test_a_function_knows_its_lines():
    text = "def pack(W_q, nbits):\n    return W_q / 0\n"
    assert inspect.getsource(as_answer(EXERCISES["pack"], text, "divided")) == text


def test_a_function_is_of_a_notebooks_cell():
    assert as_answer(EXERCISES["pack"], "def pack():\n    pass\n", "one").__module__ == "__main__"
