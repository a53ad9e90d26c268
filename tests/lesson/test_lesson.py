import json
import re
from pathlib import Path

import IPython.display
import pytest
import torch

from gemlite_edu import load
from gemlite_edu.kernels import sources
from gemlite_lab import give_up, reset, solution
from gemlite_lab.lesson import read
from gemlite_lab.lesson.copies import text_of_copy

ROOT = Path(__file__).parent.parent.parent


def test_a_solution_shows_after_giving_up_and_not_before(book, capsys):
    with pytest.raises(ValueError, match='pack is not solved yet: check\\("pack"'):
        solution("pack")
    give_up("pack")
    solution("pack")
    shown = capsys.readouterr().out
    assert "SOLUTION" not in shown and "def pack(" in shown


def test_a_solution_belongs_to_its_own_exercise(book, capsys):
    for name, mark in [("unpack", "def unpack("), ("dequant_dot_fp4", "dequant_dot(")]:
        give_up(name)
        capsys.readouterr()
        solution(name)
        assert mark in capsys.readouterr().out


def test_giving_up_does_not_undo_a_solved_exercise(book):
    (book / "work" / "progress.json").write_text('{"pack": "solved"}')
    give_up("pack")
    assert json.loads((book / "work" / "progress.json").read_text()) == {"pack": "solved"}


@pytest.mark.parametrize("folder, end", [("notebooks", ""), ("exercises", "_exercises")])
def test_reset_keeps_what_the_learner_wrote(book, folder, end):
    original = min((book / folder).glob("*.ipynb"))
    name = original.stem + end
    mine = book / "work" / f"{name}.ipynb"
    mine.write_text("my hours of work")
    kept = reset(name)
    again = reset(name.split("_")[0] + end)
    assert reset(original.stem.split("_", 1)[1] + end) is not None
    assert kept.read_text() == "my hours of work"
    assert again.read_text() == text_of_copy(original) == mine.read_text()
    assert kept != again


@pytest.mark.parametrize("action", [reset, solution, give_up])
def test_an_unknown_name_is_answered_with_the_known_ones(book, action):
    with pytest.raises(ValueError, match="there are .*(_gemv|pack)"):
        action("nothing")


def test_outside_a_workbook_there_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="not inside the workbook"):
        reset("gemv")


@pytest.fixture
def shown(monkeypatch):
    """The texts that read() displays, without their fences."""
    texts = []
    monkeypatch.setattr(
        IPython.display, "display", lambda text: texts.append(text.data.split("\n", 1)[1][:-4])
    )
    return texts


def numbered_lines(text):
    """{number: line} of what read() displayed."""
    found = [re.fullmatch(r"/\* *(\d+) \*/ ?(.*)", line).groups() for line in text.splitlines()]
    return {int(number): line for number, line in found}


def test_read_shows_the_file_that_runs_with_its_line_numbers(shown):
    read("gemv_a16w16_naive.cu")
    in_file = sources.read("gemv_a16w16_naive").splitlines()
    assert numbered_lines(shown[0]) == dict(enumerate(in_file, 1))


@pytest.mark.parametrize("name, hole", [
    ("gemv_a16wn_fp32", "dequant_dot"), ("gemv_a16wn_fp32.cu", "warp_reduce_sum"),
])  # fmt: skip
def test_a_hole_has_the_line_numbers_of_its_file(name, hole, shown):
    read(name, hole=hole)
    file_name, first_line = sources.place_of_hole(hole, name)
    in_file = dict(enumerate(sources.read(file_name).splitlines(), 1))
    lines = numbered_lines(shown[0])
    assert list(lines) == list(range(first_line, first_line + len(lines)))
    assert lines == {number: in_file[number] for number in lines}


def test_a_report_names_the_lines_that_read_shows(shown):
    x, W = torch.ones(1, 64, dtype=torch.float16), torch.ones(3, 64, dtype=torch.float16)
    report = load("gemv_a16w16_naive").inspect(x, W)
    read("gemv_a16w16_naive.cu")
    lines = numbered_lines(shown[0])
    for line in report.lines:
        assert lines[int(line.place.rpartition(":")[2])].strip() == line.code


def test_what_read_shows_still_compiles(shown):
    read("gemv_a16wn_fp32", hole="dequant_dot")
    load("gemv_a16wn_fp32", nbits=4, replace={"dequant_dot": shown[0]})


def test_lines_between_two_texts_have_the_numbers_of_their_file(shown):
    read("gemv_fast_blocks.cuh", between=("while (tile < tiles)", "hand_in(totals"))
    in_file = dict(enumerate(sources.read("gemv_fast_blocks.cuh").splitlines(), 1))
    lines = numbered_lines(shown[0])
    first, *_, last = lines
    assert list(lines) == list(range(first, last + 1))
    assert lines == {number: in_file[number] for number in lines}
    assert "while (tile < tiles)" in lines[first] and "hand_in(totals" in lines[last]


@pytest.mark.parametrize(
    "between, why",
    [
        (("no such text", "}"), "must have one line with 'no such text', got 0"),
        (("__syncthreads();", "}"), "must have one line with '__syncthreads();', got 3"),
        (("__syncthreads();\n", "}"), "must have one line with .*, got 0"),
        (("hand_in(totals", "while (tile"), "has no line with 'while .tile' after the one with"),
    ],
)
def test_read_refuses_lines_that_it_cannot_find(between, why, shown):
    with pytest.raises(ValueError, match=f"^gemv_fast_blocks.cuh {why.replace('()', '..')}"):
        read("gemv_fast_blocks.cuh", between=between)
    assert not shown


def test_read_refuses_a_hole_that_is_not_there():
    with pytest.raises(ValueError, match="has no hole 'nothing'"):
        read("gemv_a16wn_fp32", hole="nothing")
