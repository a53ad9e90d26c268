"""The rungs of large exercises: each says what is left to do, and leads to our solution."""

import json
import re
import textwrap
from itertools import pairwise
from pathlib import Path

import IPython
import pytest

from gemlite_lab import give_up, hint, progress, rung
from gemlite_lab.checker import EXERCISES, CheckFailed, check
from gemlite_lab.checker.notes import has_rungs, note_of
from gemlite_lab.checker.rungs import rung_text, solution_parts
from gemlite_lab.checker.unfinished import BLANK
from gemlite_lab.checker.workbook import solution_text
from gemlite_lab.checker.wrong_answers import as_answer
from gemlite_lab.lesson.course import find_lesson

ROOT = Path(__file__).parent.parent.parent
WITH_RUNGS = [name for name in EXERCISES if has_rungs(name)]


@pytest.fixture(autouse=True)
def own_progress(monkeypatch, tmp_path):
    path = tmp_path / "progress.json"
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(path))
    return path


def answer_in(name, cell):
    """What `check` gets from a cell with this text: a CUDA text or a function."""
    exercise = EXERCISES[name]
    if exercise.is_kernel:
        return re.search(r'"""\n(.*)"""', cell, re.DOTALL)[1]
    names = "import torch\nimport triton\nimport triton.language as tl\n"
    return as_answer(exercise, names + cell, "from_a_rung")


def message_of(name, cell):
    with pytest.raises(CheckFailed) as caught:
        check(name, answer_in(name, cell))
    return str(caught.value)


def statements_in(lines):
    return sorted(line.strip(" #") for line in lines if line.strip())


@pytest.mark.parametrize("name", WITH_RUNGS)
def test_each_blank_is_found_once_and_filling_it_gives_our_solution(name):
    above, ours, below = solution_parts(name)
    code, blanks = "\n".join(ours), note_of(name).blanks
    for expression in blanks:
        assert code.count(expression) == 1, expression
    text = rung_text(name, "blanks")
    for expression in sorted(blanks, key=code.index):
        text = text.replace(BLANK, expression, 1)
    lines = text.splitlines()
    assert "in place of each blank" in lines.pop(len(above))
    assert lines == [*above, *ours, *below]


@pytest.mark.parametrize("name", WITH_RUNGS)
def test_a_blank_that_is_left_is_named_by_its_line(name):
    cell = rung_text(name, "blanks")
    first = next(line for line in cell.splitlines() if BLANK in line)
    count = cell.count(BLANK)
    said = message_of(name, cell)
    assert f"{name} is not finished: the first of {count} blanks {BLANK} is left in" in said
    assert f"`{first.partition('//' if EXERCISES[name].is_kernel else '#')[0].strip()}`" in said


def test_the_last_blank_is_named_too():
    cell = rung_text("dequant_dot", "blanks").replace(BLANK, "0", 2)
    assert message_of("dequant_dot", cell) == (
        "dequant_dot is not finished: a blank ____ is left in the line "
        "`sum += (0) * to_float(____);`. Put code in its place"
    )


def test_a_blank_in_a_comment_is_no_blank():
    check(
        "dequant_dot_4bit", "// was ____\n" + answer_in("dequant_dot_4bit", _ours("fused_dequant"))
    )


def _ours(slug):
    cells = json.loads((ROOT / "solutions" / find_lesson(slug).file).read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    return next(text for text in texts if text.startswith("dequant_dot ="))


@pytest.mark.parametrize("name", WITH_RUNGS)
def test_the_lines_out_of_order_are_ours_and_none_follows_the_one_before(name):
    above, ours, below = solution_parts(name)
    lines = rung_text(name, "order").splitlines()
    assert lines[: len(above)] == above and lines[-len(below) or len(lines) :] == below
    head, *shuffled = lines[len(above) : len(lines) - len(below)]
    assert head.lstrip().startswith("#error THE LINES ARE OUT OF ORDER")
    assert statements_in(shuffled) == statements_in(ours)
    bare = [line.removeprefix("# ") for line in textwrap.dedent("\n".join(shuffled)).splitlines()]
    heads = [line for line in bare if not line.startswith((" ", ")", "}"))]
    heads_in_ours = [line.strip() for line in ours if line.strip() in heads]
    assert len(heads) >= 3 and set(heads) == set(heads_in_ours)
    assert set(pairwise(heads)).isdisjoint(pairwise(heads_in_ours))


@pytest.mark.parametrize("name", WITH_RUNGS)
def test_lines_out_of_order_say_so(name):
    assert message_of(name, rung_text(name, "order")) == (
        f"{name} is not finished: the lines are still out of order. Put them in order, then "
        "delete the line that begins with '#error THE LINES ARE OUT OF ORDER'"
    )


@pytest.mark.parametrize("name", WITH_RUNGS)
def test_to_write_it_all_is_the_cell_of_the_exercise(name):
    path = ROOT / "exercises" / find_lesson(EXERCISES[name].lesson).file
    cells = json.loads(path.read_text())["cells"]
    assert rung_text(name, "all") in ["".join(cell["source"]) for cell in cells]


@pytest.mark.parametrize("name", ["dequant_dot", "quantize_tokens"])
def test_a_completed_rung_passes(name, capsys):
    rung(name, "order")
    check(name, answer_in(name, solution_text(name)))
    capsys.readouterr()
    progress()
    assert f"Solved from a rung: {name} (order)" in capsys.readouterr().out
    rung(name, "blanks")
    capsys.readouterr()
    progress()
    assert f"{name} (order)" in capsys.readouterr().out


def test_whoever_writes_it_all_after_a_rung_has_written_it_all(own_progress, capsys):
    rung("pack", "order")
    rung("pack", "all")
    own_progress.write_text('{"pack": "solved"}')
    progress()
    assert "Solved from a rung" not in capsys.readouterr().out


def test_giving_up_is_not_solving_from_a_rung(capsys):
    rung("pack", "order")
    give_up("pack")
    progress()
    assert "Solved from a rung" not in capsys.readouterr().out


def test_in_a_notebook_a_rung_is_a_new_cell(monkeypatch, capsys):
    class Shell:
        def set_next_input(self, text, replace):
            self.cell = text, replace

    shell = Shell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    rung("pack", "blanks")
    assert shell.cell == (rung_text("pack", "blanks"), False)
    assert "new cell below begins pack" in capsys.readouterr().out


def test_elsewhere_a_rung_is_printed(capsys):
    rung("pack", "blanks")
    assert capsys.readouterr().out == rung_text("pack", "blanks") + "\n"


@pytest.mark.parametrize("name, which, said", [
    ("pakc", "order", "there are no rungs of 'pakc'; there are of pack, unpack, "),
    ("cuda_index", "order", 'cuda_index has no rungs, but hints: hint\\("cuda_index", 1\\)'),
    ("pack", "lines", "there is no rung 'lines'; there are order, blanks, all"),
])  # fmt: skip
def test_what_is_not_there_is_answered_with_what_there_is(name, which, said):
    with pytest.raises(ValueError, match=said):
        rung(name, which)


def test_the_first_hint_names_the_rungs_where_there_are_any(capsys):
    hint("pack", 1)
    assert 'rung("pack", "blanks")' in capsys.readouterr().out
    hint("pack", 2)
    hint("cuda_index", 1)
    assert "rung(" not in capsys.readouterr().out
