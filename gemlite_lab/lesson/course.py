"""The course: its lessons in their order, read from course.toml."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).parent / "course.toml"


@dataclass(frozen=True)
class Lesson:
    """One line of the table; course.toml says what the texts hold. number: its place, from 0."""

    number: int
    slug: str
    short: str
    part: str
    question: str
    gives: str
    is_core: bool

    @property
    def name(self):
        """Its files' name without the suffix, such as "03_gemv"."""
        return f"{self.number:02}_{self.slug}"

    @property
    def file(self):
        return f"{self.name}.ipynb"

    @property
    def title(self):
        return f"{self.number:02}. {self.question}"


def read_course(table):
    """The lessons of the course.toml at `table`, in order."""
    parts = tomllib.loads(table.read_text())["part"]
    listed = [(part["name"], dict(entry)) for part in parts for entry in part["lesson"]]
    return tuple(
        Lesson(number, part=part, is_core=entry.pop("core"), **entry)
        for number, (part, entry) in enumerate(listed)
    )


@cache
def lessons():
    """All lessons of the course, in order."""
    return read_course(TABLE)


def find_lesson(name):
    """The lesson called "gemv", "03_gemv" or "03"; ValueError with all slugs for other names."""
    for lesson in lessons():
        if name in (lesson.slug, lesson.name, f"{lesson.number:02}"):
            return lesson
    known = ", ".join(lesson.slug for lesson in lessons())
    raise ValueError(f"there is no lesson {name!r}; there are {known}")
