"""What a learner gets in work/: lessons that hold no answer, and never at the cost of their own."""

import ast
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from gemlite_lab.lesson.copies import copy_new, originals, text_of_copy

ROOT = Path(__file__).parent.parent.parent
EVERY = originals(ROOT)
by_name = pytest.mark.parametrize("name", EVERY)


def copy_of(name):
    return nbformat.reads(text_of_copy(EVERY[name]), as_version=4)


def calls(cell, function):
    """The calls of `function` in a cell."""
    nodes = ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else []
    return [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == function]


def small_book(root):
    """A workbook with a lesson, and its exercises."""
    for folder in ("notebooks", "exercises"):
        (root / folder).mkdir()
        notebook = nbformat.v4.new_notebook()
        notebook.cells = [nbformat.v4.new_markdown_cell(f"# of {folder}")]
        nbformat.write(notebook, root / folder / "a.ipynb")
    return root / "work"


@by_name
def test_it_holds_no_output_guess_or_pass(name):
    nbformat.validate(copy_of(name))
    for cell in copy_of(name).cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
        for call in calls(cell, "predict"):
            assert [ast.unparse(given) for given in call.args[1:]] == ["None"]
            assert not call.keywords


@by_name
def test_its_links_lead_to_copies_and_to_files(name):
    prose = "\n".join(c.source for c in copy_of(name).cells if c.cell_type == "markdown")
    for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", prose):
        if "/" not in link:
            assert link.removesuffix(".ipynb") in EVERY, link
        elif not link.startswith("http"):
            assert not re.match(r"\.\./(notebooks|exercises|work)/", link), link
            assert (ROOT / "work" / link).resolve().exists(), link


def test_all_are_copied_and_a_second_time_changes_nothing(tmp_path):
    for folder in ("notebooks", "exercises"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    copy_new(tmp_path)
    copies = {path.stem: path for path in (tmp_path / "work").iterdir()}
    assert copies.keys() == EVERY.keys()
    for path in copies.values():
        path.write_text("mine")
    assert copy_new(tmp_path) == []
    assert {path.read_text() for path in (tmp_path / "work").iterdir()} == {"mine"}


def test_exercises_of_before_lessons_were_copied_get_the_name_of_exercises(tmp_path):
    work = small_book(tmp_path)
    work.mkdir()
    mine = (tmp_path / "exercises" / "a.ipynb").read_text().replace("# of", "# my work on")
    (work / "a.ipynb").write_text(mine)
    (sentence,) = copy_new(tmp_path)
    assert sentence.startswith("Your exercises in work/a.ipynb are in work/a_exercises.ipynb now")
    assert (work / "a_exercises.ipynb").read_text() == mine
    assert "# of notebooks" in (work / "a.ipynb").read_text()
    assert copy_new(tmp_path) == []


def test_a_lesson_keeps_its_name_when_its_exercises_are_deleted_and_it_is_saved(tmp_path):
    work = small_book(tmp_path)
    copy_new(tmp_path)
    (work / "a_exercises.ipynb").unlink()
    saved = nbformat.read(work / "a.ipynb", as_version=4)
    saved.cells[0].source = "my notes"
    nbformat.write(saved, work / "a.ipynb")
    assert copy_new(tmp_path) == []
    assert "my notes" in (work / "a.ipynb").read_text()
    assert "# of exercises" in (work / "a_exercises.ipynb").read_text()


def test_neither_of_two_files_of_the_learner_is_touched(tmp_path):
    work = small_book(tmp_path)
    work.mkdir()
    for name in ("a", "a_exercises"):
        (work / f"{name}.ipynb").write_text(f"my {name}, no JSON at all")
    copy_new(tmp_path)
    for name in ("a", "a_exercises"):
        assert (work / f"{name}.ipynb").read_text() == f"my {name}, no JSON at all"


def run_all(root, name, guess=None):
    """Run all cells of the copy `name` in work/; return the notebook and the error or None."""
    path = root / "work" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if guess and cell.cell_type == "code":
            cell.source = re.sub(
                r"^(predict\(.*), None\)", rf"\1, {guess})", cell.source, flags=re.M
            )
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return notebook, error
    return notebook, None


@pytest.fixture
def book(tmp_path, monkeypatch):
    """The learner's workbook in which a kernel keeps guesses, with nothing passed from outside."""
    for name in ("notebooks", "exercises", "solutions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    copy_new(tmp_path)
    monkeypatch.delenv("GEMLITE_EDU_PREDICTIONS")
    monkeypatch.delenv("GEMLITE_EDU_PROGRESS", raising=False)
    return tmp_path


def texts(cell):
    return "".join(output.get("text", "") for output in cell.get("outputs", []))


def test_running_all_of_a_lesson_stops_at_the_first_answer_and_shows_none(book):
    name = next(iter(EVERY))
    notebook, error = run_all(book, name)
    first = next(i for i, cell in enumerate(notebook.cells) if calls(cell, "reveal"))
    (output,) = notebook.cells[first].outputs
    assert (output.output_type, output.ename) == ("error", "NoGuess")
    assert len(output.traceback) == 1 and "it is" not in str(error)
    assert not any("it is" in texts(cell) for cell in notebook.cells)
    assert not any(cell.get("outputs") for cell in notebook.cells[first + 1 :])
    assert not (book / "work" / "guesses.jsonl").exists()


def test_with_guesses_all_of_a_lesson_runs_and_they_are_kept(book):
    name = next(iter(EVERY))
    notebook, error = run_all(book, name, guess="(1, 10)")
    assert error is None
    kept = [json.loads(line) for line in (book / "work" / "guesses.jsonl").read_text().splitlines()]
    shown = "".join(map(texts, notebook.cells))
    assert kept and all(line["guess"] == [1, 10] and line["sure"] == 0.8 for line in kept)
    assert all(f"{line['what']}: it is {line['measured']:g}" in shown for line in kept)
