"""What students handed in: a folder with a folder, or one notebook, for each of them.

Nothing is opened here except to compute a digest, and no link is followed. An entry that cannot be
graded is a submission too, with a sentence that says why: nothing is lost.
"""

import hashlib
import os
import stat
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

LARGEST_NOTEBOOK = 20 << 20  # bytes
MOST_NOTEBOOKS = 200  # of one student
_MOST_ENTRIES = 10_000  # of one student's folder


@dataclass(frozen=True)
class Submission:
    """One student's notebooks, what was left out, and a digest of the notebooks."""

    student: str
    notebooks: tuple[Path, ...]
    remarks: tuple[str, ...]
    digest: str


def submissions_in(folder):
    """The submissions in `folder`, by name. Hidden entries are nobody's."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder: name the one that holds the submissions")
    entries = sorted(Path(entry) for entry in os.scandir(folder) if entry.name[0] != ".")
    every = [_submission(entry) for entry in entries]
    times = Counter(_same(each.student) for each in every)
    return [_refused(each) if times[_same(each.student)] > 1 else each for each in every]


def units_notebooks(submission, unit, units):
    """The notebooks of a submission that hold a unit's exercises, the likeliest first.

    A notebook belongs to the lesson with the longest slug that its name contains; one whose name
    contains none may hold any exercise, and comes last.
    """
    slugs = sorted((each.lesson.slug for each in units), key=len, reverse=True)
    of_lesson = {
        path: next((slug for slug in slugs if slug in path.stem), None)
        for path in submission.notebooks
    }
    own = [path for path, slug in of_lesson.items() if slug in (unit.lesson.slug, None)]
    return sorted(
        own,
        key=lambda path: (
            *(of_lesson[path] is None, "_exercises" not in path.stem),
            *(len(path.name), path),  # a copy has a longer name than what it was copied from
        ),
    )


def _submission(entry):
    student = entry.stem if entry.suffix == ".ipynb" and not entry.is_dir() else entry.name
    found, remarks = _notebooks(entry)
    kept = []
    for path in found[:MOST_NOTEBOOKS]:
        problem = _problem_of(path)
        remarks += [f"{path.name} {problem}, and was left out"] if problem else []
        kept += [] if problem else [path]
    if len(found) > MOST_NOTEBOOKS:
        remarks.append(f"of {len(found)} notebooks the first {MOST_NOTEBOOKS} were taken")
    if not found and not remarks:
        remarks.append("there is no notebook (.ipynb) in it")
    return Submission(_printable(student), tuple(kept), tuple(map(_printable, remarks)), _of(kept))


def _notebooks(entry):
    """(paths of notebooks in or at `entry`, remarks)."""
    if entry.is_symlink() or not entry.is_dir():
        return ([entry], []) if entry.suffix == ".ipynb" else ([], [_no_notebook(entry)])
    found, seen, remarks = [], 0, []
    walk = os.walk(entry, onerror=lambda error: remarks.append(f"a folder in it: {error.strerror}"))
    for folder, folders, names in walk:
        folders[:] = sorted(name for name in folders if name[0] != ".")
        found += [Path(folder, name) for name in sorted(names) if name.endswith(".ipynb")]
        seen += len(folders) + len(names)
        if seen > _MOST_ENTRIES:
            remarks.append(f"it has more than {_MOST_ENTRIES} files, and the rest was left out")
            break
    return found, remarks


def _no_notebook(entry):
    if entry.is_symlink():
        return f"{entry.name} is a link, and links are not followed"
    return f"{entry.name} is neither a folder nor a notebook (.ipynb): unpack it first"


def _problem_of(path):
    """Why the notebook is not to be opened, or None."""
    facts = path.lstat()
    if stat.S_ISLNK(facts.st_mode):
        return "is a link"
    if not stat.S_ISREG(facts.st_mode):
        return "is no regular file"
    if facts.st_size > LARGEST_NOTEBOOK:
        return f"has more than {LARGEST_NOTEBOOK >> 20} MB"
    return None if os.access(path, os.R_OK) else "may not be read"


def _of(paths):
    digest = hashlib.sha256()
    for path in paths:
        digest.update(os.fsencode(path.name) + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _same(student):
    return unicodedata.normalize("NFKC", student).casefold()


def _refused(submission):
    why = f"there is more than one submission by the name {submission.student}: rename one of them"
    return replace(submission, notebooks=(), remarks=(why,), digest="-")


def _printable(text):
    """The text without the bytes of another encoding, and without control characters."""
    text = os.fsencode(text).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
