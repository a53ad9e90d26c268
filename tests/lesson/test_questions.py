"""The recall questions of every lesson."""

import tomllib
from pathlib import Path

import pytest

from gemlite_lab.lesson import recall
from gemlite_lab.lesson.course import lessons

FOLDER = Path(__file__).parent.parent.parent / "gemlite_lab/lesson/questions"
QUESTIONS = sorted(FOLDER.glob("*.toml"))


@pytest.mark.parametrize("path", QUESTIONS, ids=lambda path: path.stem)
def test_every_choice_of_a_question_is_explained_and_one_is_right(path):
    questions = tomllib.loads(path.read_text())["question"]
    assert len(questions) == 3
    for question in questions:
        assert question["ask"].strip().endswith(("?", "."))
        assert 3 <= len(question["choice"]) <= 4
        assert sum(choice["right"] for choice in question["choice"]) == 1
        for choice in question["choice"]:
            assert len(choice["because"].split()) >= 6, choice["text"]


def test_the_right_answer_is_not_always_in_the_same_place():
    places = {
        [choice["right"] for choice in question["choice"]].index(True)
        for path in QUESTIONS
        for question in tomllib.loads(path.read_text())["question"]
    }
    assert len(places) >= 3


def test_every_lesson_has_its_questions():
    assert {path.stem for path in QUESTIONS} == {lesson.slug for lesson in lessons()}


def test_every_question_can_be_asked_and_every_choice_answered(capsys):
    for path in QUESTIONS:
        for number in (1, 2, 3):
            name = f"{path.stem}.{number}"
            recall(name)
            letters = [x[2] for x in capsys.readouterr().out.splitlines() if x.startswith("  ")]
            recall(name, letters[0])
            recall(name, letters[-1])
            lines = capsys.readouterr().out.splitlines()
            assert all(line.startswith(("Right: ", "Not quite: ")) for line in lines)


@pytest.mark.parametrize(
    "name, answer", [("nothing.1", None), ("gemv.4", None), ("gemv", None), ("gemv.1", "z")]
)
def test_a_wrong_question_or_letter_gets_a_sentence(name, answer):
    with pytest.raises(ValueError, match="there are|has questions|answer with one of"):
        recall(name, answer)
