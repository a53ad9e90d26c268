"""The quiz, read back by a small parser of the GIFT format that knows nothing of its writer."""

import tomllib
from pathlib import Path

from gemlite_lab.classroom.__main__ import main
from gemlite_lab.lesson.course import lessons

QUESTIONS = Path(__file__).parents[2] / "gemlite_lab" / "lesson" / "questions"


def parsed(text):
    """[(category, title, question, [(is right, choice, feedback)])], one character at a time."""
    found, category = [], None
    for block in text.split("\n\n"):
        if block.startswith("$CATEGORY: "):
            category = block.removeprefix("$CATEGORY: ").strip()
        elif block.strip():
            found.append((category, *question_in(block)))
    return found


def question_in(block):
    fields, kinds, escaped = [""], ["head"], False
    for mark in block:
        if escaped:
            fields[-1] += "\n" if mark == "n" else mark
        elif mark in "{~=#" and (kinds[-1] != "head" or mark == "{"):
            fields.append("")
            kinds.append(mark)
        elif mark not in "\\}":
            assert mark != ":" or kinds[-1] == "head"
            fields[-1] += mark
        escaped = mark == "\\" and not escaped
    head, opening, *rest = fields
    assert kinds[1] == "{" and not opening.strip()
    _, title, question = head.split("::", 2)
    choices = [
        (kind == "=", choice.strip(), feedback.strip())
        for kind, choice, feedback in zip(kinds[2::2], rest[::2], rest[1::2], strict=True)
    ]
    assert set(kinds[3::2]) == {"#"}
    return title, question.removeprefix("[plain]").strip(), choices


def test_it_says_what_the_questions_say(tmp_path):
    main(["quizzes", str(tmp_path / "quiz.gift")])
    found = parsed((tmp_path / "quiz.gift").read_text(encoding="utf-8"))
    expected = []
    for lesson in lessons():
        questions = tomllib.loads((QUESTIONS / f"{lesson.slug}.toml").read_text())["question"]
        for number, asked in enumerate(questions, 1):
            choices = [
                (choice["right"], choice["text"].strip(), choice["because"].strip())
                for choice in asked["choice"]
            ]
            title = f"{lesson.slug}.{number}"
            expected.append((f"gemlite_edu/{lesson.name}", title, asked["ask"].strip(), choices))
    assert found == expected


def test_moodle_takes_no_choice_for_something_else(tmp_path):
    main(["quizzes", str(tmp_path / "quiz.gift")])
    for _, _, question, choices in parsed((tmp_path / "quiz.gift").read_text(encoding="utf-8")):
        assert question and sum(right for right, _, _ in choices) == 1
        assert not [text for _, text, _ in choices if text.startswith(("%", "["))]
