"""The grades: a row of a CSV for each student, and beside it a page with what the checks said.

`grades.csv` gets each row as soon as it is known; `grades.comments/` has the pages; `grades.seed`
has the number from which the hidden cases are drawn, and nobody but its owner may read it. Who
opens the book again finds the rows of the submissions that have not changed since.
"""

import csv
import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

_BEFORE, _AFTER = ["student", "points"], ["of", "submission", "remarks"]
_LONGEST_NAME = 200  # bytes; file systems take 255


class Gradebook:
    """The book at `path`, for these exercises: a list of `Task`.

    seed: a number of the teacher's; None takes that of the book, or draws one. ValueError if the
    book was kept for other exercises or with another seed.
    """

    def __init__(self, path, tasks, seed=None):
        self._path, self._tasks = Path(path), list(tasks)
        self._header = [*_BEFORE, *(task.name for task in self._tasks), *_AFTER]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._rows = self._read()
        self._seed = self._kept_seed(seed)
        self._pages = self._path.with_suffix(".comments")
        self._pages.mkdir(exist_ok=True)

    def seed_of(self, task):
        """The seed of the hidden cases of a task, the same for all students."""
        text = f"{self._seed} {task.name}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:4]) % 2**31

    def has(self, submission):
        """Whether the book has the row of this very submission."""
        row = self._rows.get(submission.student)
        return row is not None and row["submission"] == submission.digest != "-"

    def points_of(self, submission):
        return self._rows[submission.student]["points"]

    def begin(self, submissions):
        """Keep the rows that hold, and drop those of changed or removed submissions."""
        self._rows = {
            each.student: self._rows[each.student] for each in submissions if self.has(each)
        }
        self._write_all()

    def add(self, submission, verdicts):
        """Write the page and then the row of a submission. verdicts: {task: `Verdict`}."""
        points = {task.name: task.points * verdicts[task].is_right for task in self._tasks}
        row = {"student": submission.student, "points": sum(points.values()), **points}
        row |= {"of": self._most(), "submission": submission.digest}
        row["remarks"] = "; ".join(submission.remarks)
        self._write_page(submission, verdicts, row["points"])
        self._rows[submission.student] = {name: str(value) for name, value in row.items()}
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self._header).writerow(row)
            file.flush()
            os.fsync(file.fileno())

    def finish(self):
        """Put the rows into the order of the names."""
        self._rows = dict(sorted(self._rows.items()))
        self._write_all()

    def _most(self):
        return sum(task.points for task in self._tasks)

    def _read(self):
        if not self._path.exists():
            return {}
        with self._path.open(newline="", encoding="utf-8") as file:
            header, *lines = list(csv.reader(file)) or [self._header]
        if header != self._header:
            raise ValueError(
                f"{self._path} has other columns: it was written for other exercises, or by "
                "another program. Choose another --out"
            )
        whole = [dict(zip(header, line, strict=True)) for line in lines if len(line) == len(header)]
        return {row["student"]: row for row in whole}

    def _write_all(self):
        unfinished = self._path.with_suffix(f".{os.getpid()}")
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._header)
            writer.writeheader()
            writer.writerows(self._rows.values())
        unfinished.replace(self._path)

    def _kept_seed(self, seed):
        path = self._path.with_suffix(".seed")
        kept = None
        with suppress(FileNotFoundError, ValueError):
            kept = int(path.read_text())
        if kept is not None and seed not in (None, kept):
            raise ValueError(
                f"{path} has another seed than {seed}: its students met other cases. Leave --seed "
                "out, or choose another --out"
            )
        if kept is None:
            kept = secrets.randbelow(2**63) if seed is None else seed
            with os.fdopen(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w"
            ) as file:
                file.write(f"{kept}\n")
        return kept

    def _write_page(self, submission, verdicts, points):
        parts = [f"# {submission.student}: {points} of {self._most()} points"]
        parts += [f"- {remark}" for remark in submission.remarks]
        parts += [_section(task, verdicts[task]) for task in self._tasks]
        page = self._pages / f"{_file_name(submission.student)}.md"
        page.write_text("\n\n".join(parts) + "\n", encoding="utf-8", errors="backslashreplace")


def _section(task, verdict):
    got = task.points if verdict.is_right else 0
    said = "\n".join(f"    {line}" for line in verdict.said.splitlines())
    return f"## {task.name}: {got} of {task.points}\n\n{said}"


def _file_name(student):
    if len(student.encode()) <= _LONGEST_NAME:
        return student
    return student[: _LONGEST_NAME // 8] + hashlib.sha256(student.encode()).hexdigest()[:16]
