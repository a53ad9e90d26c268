"""The course as tables: in Markdown for docs, README and `course()`, and as plain text."""

from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

from gemlite_lab.lesson.course import Lesson
from gemlite_lab.lesson.minutes import Stated, read_cells, stated_minutes

_WIDTH = 100


@dataclass(frozen=True)
class Row:
    """A lesson, its minutes, and how many of its exercises the learner has solved."""

    lesson: Lesson
    minutes: Stated
    solved: int = 0
    exercises: int = 0

    @property
    def state(self):
        """What is solved: "1 of 2", or "done"; empty for a lesson without exercises."""
        if self.solved == self.exercises:
            return "done" if self.exercises else ""
        return f"{self.solved} of {self.exercises}"


def rows_of(lessons, notebooks):
    """A row for each lesson, with the minutes that it states in the folder `notebooks`."""
    return [Row(x, stated_minutes(read_cells(notebooks / x.file))) for x in lessons]


def markdown(rows, folder, is_copy=False):
    """The text of a table for each part. folder: where the links to lessons lead.

    is_copy: it holds the learner's copies, so that the table links exercises too, and says which
    are solved.
    """
    head = ["lesson", "at the end you have", "minutes (+ exercises)"] + ["solved"] * is_copy
    lines = [shortest_way(rows, "in bold")]
    for part, of_part in groupby(rows, key=lambda row: row.lesson.part):
        lines += ["", f"**{part}**", "", _line(head), "|" + "---|" * len(head)]
        lines += [_line(_cells(row, folder, is_copy)) for row in of_part]
    return "\n".join(lines)


def parts(rows):
    """The text of a table with a line for each part."""
    head = ["part", "lessons", "at its end you have", "minutes (+ exercises)"]
    lines = [_line(head), "|" + "---|" * len(head)]
    for part, of_part in groupby(rows, key=lambda row: row.lesson.part):
        every = list(of_part)
        lesson = sum(row.minutes.lesson for row in every)
        exercises = sum(row.minutes.exercises for row in every)
        lines.append(_line([part, len(every), every[-1].lesson.gives, f"{lesson} + {exercises}"]))
    return "\n".join(lines)


def _line(cells):
    return f"| {' | '.join(map(str, cells))} |"


def _cells(row, folder, is_copy):
    lesson, minutes = row.lesson, row.minutes
    link = f"[{lesson.title}]({folder}/{lesson.file})"
    exercises = minutes.exercises
    if is_copy:
        exercises = f"[{exercises}]({folder}/{lesson.name}_exercises.ipynb)"
    more = f" + {exercises}" if minutes.exercises else ""
    cells = [f"**{link}**" if lesson.is_core else link, lesson.gives, f"{minutes.lesson}{more}"]
    return [*cells, row.state] if is_copy else cells


def plain(rows):
    """The same as text, in lines of at most 100 characters."""
    lines = wrap(shortest_way(rows, "marked *"), _WIDTH)
    width = max(len(row.lesson.short) for row in rows)
    for part, of_part in groupby(rows, key=lambda row: row.lesson.part):
        lines += ["", part]
        for row in of_part:
            lesson, minutes = row.lesson, row.minutes
            mark = "*" if lesson.is_core else " "
            more = f"+ {minutes.exercises}" if minutes.exercises else ""
            lines.append(
                f"{mark} {lesson.number:02} {lesson.short:{width}} {minutes.lesson:3} {more:4} "
                f"{row.state:6} {lesson.gives}".rstrip()
            )
    return "\n".join(lines)


def shortest_way(rows, mark):
    """A sentence: which lessons lead to the end of Part I, and how long they take."""
    core = [row for row in rows if row.lesson.is_core]
    part, _, _ = core[-1].lesson.part.partition(",")
    lessons = sum(row.minutes.lesson for row in core)
    exercises = sum(row.minutes.exercises for row in core)
    return (
        f"The {len(core)} lessons {mark} are the shortest way to the end of {part}: {lessons} "
        f"minutes, and {exercises} for their exercises."
    )
