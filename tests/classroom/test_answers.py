"""How an answer is taken out of a notebook: as a text, with what it needs, and nothing is run."""

import re

import nbformat
import pytest
from handed_in import ROOT, cells_in

from gemlite_lab.checker import EXERCISES
from gemlite_lab.checker.check import CheckFailed, judge
from gemlite_lab.classroom import answers
from gemlite_lab.classroom.answers import NoAnswer, answer_in, cells_of, defining_text
from gemlite_lab.classroom.plan import units

TASKS = [(task, unit) for unit in units() for task in unit.tasks]


@pytest.mark.parametrize("task, unit", TASKS, ids=lambda each: getattr(each, "name", ""))
def test_it_finds_our_own_answer_and_none_of_the_calls_around_it(task, unit):
    text = defining_text(cells_of(ROOT / "solutions" / unit.lesson.file), task.variable)
    exercise = EXERCISES[task.name]
    answer = answer_in(text, task.variable, exercise)
    assert isinstance(answer, str) if exercise.is_kernel else callable(answer)
    assert not re.search(r"^(check|print)\(", text, re.MULTILINE)


def test_an_answer_may_use_the_data_that_its_notebook_imports_from_here():
    cells = cells_of(ROOT / "solutions" / "28_w2a8_tensor_cores.ipynb")
    exercise = EXERCISES["fragment_shape"]
    judge(
        exercise, answer_in(defining_text(cells, "fragment_shape"), "fragment_shape", exercise), 3
    )


def test_no_statement_runs_in_this_process(tmp_path):
    cell = (
        f"import pathlib\n"
        f"there = pathlib.Path({str(tmp_path / 'there')!r}).write_text('x')\n"
        "@pathlib.Path('decorated').touch\n"
        "def unpack(W_packed=there, nbits=print('default'), K=0):\n    return there"
    )
    answer = answer_in(defining_text([cell], "unpack"), "unpack", EXERCISES["unpack"])
    with pytest.raises(CheckFailed, match="PermissionError|not defined"):
        judge(EXERCISES["unpack"], answer, 3)
    with pytest.raises(TypeError, match="unpack is a text"):
        answer()
    assert not (tmp_path / "there").exists()


def test_a_triton_function_is_never_made_by_its_own_decorators_and_defaults():
    cell = (
        "import triton\nimport triton.language as tl\n@triton.jit\n"
        "def dense_gemv(x_ptr, N, BLOCK: tl.constexpr, more=3, other=print('x')):\n    return"
    )
    with pytest.raises(NoAnswer, match="dense_gemv cannot be read"):
        answer_in(cell, "dense_gemv", EXERCISES["dense_gemv"])
    answer = answer_in(cell.replace("print('x')", "4"), "dense_gemv", EXERCISES["dense_gemv"])
    assert answer.__defaults__ == (3, 4)
    assert answer.__annotations__.keys() == {"BLOCK"} and answer.__globals__.keys() <= {
        "__builtins__"
    }


@pytest.mark.parametrize(
    "variable", ["dense_gemv = 3", "from os import path as dense_gemv", "class dense_gemv: pass"]
)
def test_a_triton_answer_is_a_def(variable):
    with pytest.raises(NoAnswer, match="dense_gemv must be a def|cannot be read"):
        answer_in(variable, "dense_gemv", EXERCISES["dense_gemv"])


@pytest.mark.parametrize("value", ["3", "'x' * 200_001", "undefined", "exit(1)"])
def test_a_kernel_is_a_short_text(value):
    with pytest.raises(NoAnswer, match="cuda_index must be a text|cuda_index cannot be read"):
        answer_in(f"cuda_index = {value}", "cuda_index", EXERCISES["cuda_index"])


def test_the_last_definition_counts_and_what_it_does_not_use_is_left_out():
    cells = [
        "def unpack(): return 1",
        "unused = slow()",
        "def unpack(): return helper",
        "helper = 2",
    ]
    text = defining_text(cells, "unpack")
    assert text == "\n\n".join([cells[0], cells[2], cells[3]])


def test_a_long_answer_is_refused_with_a_sentence():
    long = f"unpack = {'1 + ' * 100_000}1"
    with pytest.raises(NoAnswer, match="more than 200000 characters"):
        answer_in(long, "unpack", EXERCISES["unpack"])


def test_a_deep_answer_is_refused_with_a_sentence():
    deep = f"def unpack(): return {'(' * 50_000}"
    with pytest.raises(NoAnswer, match="is no Python"):
        defining_text([deep], "unpack")


def test_a_cell_for_ipython_is_still_read():
    cell = "%%time\n!pip list\n%matplotlib inline\ndef unpack():\n    return 1"
    assert "def unpack" in defining_text([cell], "unpack")


def test_the_exercises_as_shipped_are_found_too():
    for task, unit in TASKS:
        cells = ["".join(c["source"]) for c in cells_in(ROOT / "exercises" / unit.lesson.file)]
        assert defining_text(cells, task.variable), task.name


def test_a_notebook_of_format_3_gets_a_sentence(tmp_path):
    path = tmp_path / "old.ipynb"
    path.write_text(nbformat.writes(nbformat.v3.new_notebook()))
    with pytest.raises(NoAnswer, match="no notebook of format 4"):
        answers.cells_of(path)
