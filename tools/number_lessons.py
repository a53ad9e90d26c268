"""Make files, links and titles follow gemlite_lab/lesson/course.toml.

    python tools/number_lessons.py

After a change in the table it renames what lies in notebooks/, exercises/ and solutions/ by the
lessons' places, rewrites every link to them, the titles and the links to the next lesson. A new
lesson may lie in notebooks/ without a number, or with any. Then it writes what follows from the
lessons' texts: the minutes that each states, the table of docs/course.md and that of README.
"""

import re
import sys
from pathlib import Path

import nbformat
from refresh_notebooks import ROOT, text_of

from gemlite_lab.lesson.course import read_course
from gemlite_lab.lesson.course_table import markdown, parts, rows_of
from gemlite_lab.lesson.minutes import minutes_by_rule

FOLDERS = ("notebooks", "exercises", "solutions")
TEXTS = ("*.md", "docs/*.md", "gemlite_lab/lesson/questions/*.toml")
BEGIN, END = "<!-- the {}, by tools/number_lessons.py -->\n", "<!-- end of the {} -->"


def number_lessons(root):
    """Make the workbook in the folder `root` follow its course.toml."""
    lessons = read_course(root / "gemlite_lab/lesson/course.toml")
    rename(root, lessons)
    relink(root, lessons)
    for lesson, following in zip(lessons, [*lessons[1:], None], strict=True):
        change(root / "notebooks" / lesson.file, written_lesson, lesson, following)
        for folder in ("exercises", "solutions"):
            if (root / folder / lesson.file).exists():
                change(root / folder / lesson.file, numbered_title, lesson)
    rows = rows_of(lessons, root / "notebooks")
    for page, what, table in tables(rows):
        (root / page).write_text(with_table((root / page).read_text(), what, table))


def rename(root, lessons):
    """Number each file by its lesson; ValueError, before any change, if the two do not match."""
    files = {lesson.slug: lesson.file for lesson in lessons}
    for folder in FOLDERS:
        paths = {}
        for path in sorted((root / folder).glob("*.ipynb")):
            slug = re.sub(r"^\d\d_", "", path.stem)
            if slug not in files:
                raise ValueError(f"{path} is in no line of course.toml: add {slug!r}, or remove it")
            if slug in paths:
                raise ValueError(f"{path} and {paths[slug]} are one lesson: remove one of them")
            paths[slug] = path
        missing = [slug for slug in files if slug not in paths]
        if folder == "notebooks" and missing:
            raise ValueError(f"course.toml has {missing[0]!r}, but notebooks/ has no such lesson")
        for slug, path in paths.items():
            path.rename(path.with_name(files[slug]))


def relink(root, lessons):
    """Give every name of a lesson's file the lesson's number, in notebooks, questions and texts."""
    files = {lesson.slug: lesson.file for lesson in lessons}
    name = re.compile(rf"(?<!\w)(?:\d\d_)?({'|'.join(files)})\.ipynb")
    texts = [path for pattern in TEXTS for path in root.glob(pattern)]
    for path in [*texts, *(path for folder in FOLDERS for path in (root / folder).glob("*.ipynb"))]:
        path.write_text(name.sub(lambda found: files[found[1]], path.read_text()))


def change(path, edit, *arguments):
    """Write the notebook at `path` as `edit`(its cells, *arguments) leaves it."""
    notebook = nbformat.read(path, as_version=4)
    edit(notebook.cells, *arguments)
    path.write_text(text_of(notebook))


def written_lesson(cells, lesson, following):
    """Write the lesson's title and minutes, and at its end the link to the one that follows."""
    first, last = cells[0], cells[-1]
    first.source = re.sub(r"^# .*", lambda _: f"# {lesson.title}", first.source)
    first.source = re.sub(r"\*\*\d+ minutes", f"**{minutes_by_rule(cells)} minutes", first.source)
    last.source = re.sub(r"\n+(\*\*)?Next:.*\Z", "", last.source.rstrip())
    if following:
        last.source += f"\n\n**Next:** [{following.question}]({following.file})"


def numbered_title(cells, lesson):
    """Write the lesson's number before the title of its exercises."""
    cells[0].source = re.sub(r"^# \d\d\.", f"# {lesson.number:02}.", cells[0].source)


def tables(rows):
    """[(page, what its table lists, the table)] of the pages that have one."""
    lessons = "docs/course.md", "lessons", markdown(rows, "../notebooks")
    return [lessons, ("README.md", "parts", parts(rows))]


def with_table(text, what, table):
    """The page's text with the table between its marks."""
    begin, end = BEGIN.format(what), END.format(what)
    before, _, rest = text.partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"the page needs the marks of its table: {begin.strip()} and {end}")
    return f"{before}{begin}{table}\n{end}{after}"


if __name__ == "__main__":
    number_lessons(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
