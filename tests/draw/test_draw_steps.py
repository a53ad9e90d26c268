"""The picture of a GEMM's steps: what the kernel really did, and what it would do in sequence."""

import sys

import pytest
import torch

from gemlite_edu import load
from gemlite_edu.runners.simulator.report import Phase, Report
from gemlite_lab.draw.steps import steps

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.steps"]
IN_SEQUENCE = """
__device__ void all_steps(const Problem& p, Shared& shared,
                          Sums (&sums)[FRAGMENTS_M][FRAGMENTS_N]) {
  for (int step = 0; step * BLOCK_K < p.K; ++step) {
    copy_step(p, shared, step);
    __pipeline_wait_prior(0);
    decode_step(shared, step);
    __syncthreads();
    multiply_step(shared, step, sums);
    __syncthreads();
  }
}"""


def inspected(all_steps=None, M=16, K=2048):
    replace = {"all_steps": all_steps} if all_steps else None
    x, words = torch.ones(M, K).to(torch.int8), torch.zeros(32, K // 16, dtype=torch.int32)
    report = load("gemm_a8w2_wmma", replace=replace).inspect(x, words)
    assert not report.findings
    return report


def table(capsys):
    """[(copy begins, decoded, multiplied, written)] of each phase."""
    title, head, *lines = capsys.readouterr().out.splitlines()
    assert title == "block 0 from barrier to barrier, its steps along K"
    assert head.split() == "phase copy begins decoded multiplied written ends at".split()
    assert [line.split()[0] for line in lines] == [str(n + 1) for n in range(len(lines))]
    return [tuple(line[7 + 16 * i : 23 + 16 * i].strip() for i in range(4)) for line in lines]


def numbers(cell):
    """The steps in a cell, without what is of none."""
    return [int(what.removeprefix("step ")) for what in cell.split(", ") if what.startswith("step")]


@pytest.mark.parametrize("M", [16, 32, 64], ids="M = {}".format)
def test_as_shipped_three_steps_are_worked_on_at_a_time(M, capsys):
    report = inspected(M=M)
    steps(report)
    *phases, sums, y = table(capsys)
    assert (sums, y) == (("-", "-", "-", "sums"), ("-", "-", "-", "y"))
    begun, decoded, multiplied = ([numbers(phase[i]) for phase in phases] for i in range(3))
    assert begun == [[0, 1], [2], [3], [], []]
    assert decoded == [[0], [1], [2], [3], []]
    assert multiplied == [[], [0], [1], [2], [3]]


def test_in_sequence_each_phase_works_on_one_step(capsys):
    steps(inspected(IN_SEQUENCE))
    *phases, _, _ = table(capsys)
    expected = [
        row for n in range(4) for row in ([f"step {n}"] * 2 + ["-"], ["-", "-", f"step {n}"])
    ]
    assert [list(phase[:3]) for phase in phases] == expected
    assert {phase[3] for phase in phases} == {"-"}


def test_the_picture_says_the_same_as_the_text(capsys, monkeypatch):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    steps(inspected())
    phases = table(capsys)
    (axes,) = figures[0].axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["copy begins", "decoded", "multiplied", "written"]
    cells = {}
    for text in axes.texts:
        x, y = text.get_position()
        cells.setdefault((int(x), int(y)), []).append(text.get_text())
    for phase, row in enumerate(phases):
        for kind, cell in enumerate(row):
            assert ", ".join(cells.get((phase, kind), ["-"])) == cell


def report_of(*phases):
    """Of one warp: (global loads, global stores, shared loads, shared stores) of each phase."""
    return Report("", (), (), tuple, tuple(Phase("", (phase,)) for phase in phases), 0)


def test_what_is_decoded_beyond_the_last_step_is_said_to_be_unused(capsys):
    steps(report_of((6, 0, 1, 10), (0, 0, 9, 4), (0, 0, 9, 4), (0, 0, 0, 5), (0, 7, 5, 0)))
    assert table(capsys) == [
        ("step 0, step 1", "step 0", "-", "-"),
        ("-", "step 1", "step 0", "-"),
        ("-", "unused", "step 1", "-"),
        ("-", "-", "-", "sums"),
        ("-", "-", "-", "y"),
    ]


@pytest.mark.parametrize(
    "phases",
    [
        [(3, 0, 1, 5), (0, 0, 8, 0)],
        [(3, 0, 1, 7), (3, 0, 1, 7), (0, 0, 8, 0), (0, 0, 12, 0)],
        [(3, 0, 1, 7), (2, 0, 1, 6), (0, 0, 8, 0), (0, 0, 8, 0)],
        [(3, 0, 1, 7)],
        [],
    ],
    ids=["half a piece", "one step and a half", "copies of unequal steps", "no product", "nothing"],
)
def test_other_phases_are_refused(phases, shown, capsys):
    with pytest.raises(ValueError, match="^the requests of .* are not those of whole steps$"):
        steps(report_of(*phases))
    assert not shown and not capsys.readouterr().out


def test_it_shows_one_picture(shown):
    steps(inspected())
    (picture,) = shown
    what = "the 4 steps of block 0 are copied, decoded and multiplied"
    assert picture.alt == f"In which of 7 phases {what}"
