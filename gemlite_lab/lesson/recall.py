"""Three questions at the start of each lesson; every choice has its own explanation.

The questions of gemv are in questions/gemv.toml: tables [[question]] with `ask`, and in each
[[question.choice]] with `text`, `right` and `because`.
"""

import tomllib
from pathlib import Path
from string import ascii_lowercase

_FOLDER = Path(__file__).parent / "questions"


def recall(question, answer=None):
    """Ask question "gemv.2", the second one of that lesson; with a letter, explain that choice."""
    if not isinstance(question, str):
        raise TypeError(f'name the question in quotes, recall("gemv.1", "a"), got {question!r}')
    lesson, _, number = question.partition(".")
    questions = questions_of(lesson)
    if not number.isdigit() or not 1 <= int(number) <= len(questions):
        raise ValueError(f"{lesson} has questions {lesson}.1 to .{len(questions)}")
    asked = questions[int(number) - 1]
    choices = dict(zip(ascii_lowercase, asked["choice"], strict=False))
    if answer is None:
        print(asked["ask"])
        for letter, choice in choices.items():
            print(f"  {letter}) {choice['text']}")
        print(f'Answer with recall("{question}", "a")')
        return
    if str(answer).lower() not in choices:
        raise ValueError(f"answer with one of {', '.join(choices)}, got {answer!r}")
    choice = choices[str(answer).lower()]
    print(f"{'Right' if choice['right'] else 'Not quite'}: {choice['because']}")


def questions_of(lesson):
    """The questions of the lesson with this slug, as its file has them."""
    path = _FOLDER / f"{lesson}.toml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in _FOLDER.glob("*.toml")))
        raise ValueError(f"there are no questions for {lesson!r}; there are for {known}")
    return tomllib.loads(path.read_text())["question"]
