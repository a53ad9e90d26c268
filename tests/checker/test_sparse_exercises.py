"""What the exercises of 1:2 sparse weights are tried on, and what they say of right answers."""

from pathlib import Path

import pytest
import torch

from gemlite_edu.numbers import reference
from gemlite_lab.checker import EXERCISES, check

RIGHT = Path(__file__).parent.parent / "right" / "dequant_dot_sparse"
PACK, DOT = EXERCISES["pack_sparse"], EXERCISES["dequant_dot_sparse"]
CASES = [*PACK.cases(), *DOT.cases()]


@pytest.fixture(autouse=True)
def own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))


def halves_of(values):
    """The first and the second of each whole pair of a row."""
    K = values.shape[1] // 64 * 64
    return values[:, :K].reshape(len(values), -1, 2, 32).unbind(2)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.kept.any()], ids=lambda case: case.label
)
def test_of_each_pair_one_is_kept_and_of_half_of_them_the_first(case):
    first, second = halves_of(case.kept)
    assert (first != second).all()
    if first.numel() > 100:
        assert 0.4 < first.double().mean() < 0.6


@pytest.mark.parametrize("exercise", [PACK, DOT], ids=lambda exercise: exercise.name)
def test_every_code_is_kept_and_pruned_ones_are_not_0(exercise):
    case = exercise.cases()[0]
    assert case.W_q[case.kept].unique().tolist() == list(range(128))
    assert (case.W_q[~case.kept] != 0).double().mean() > 0.5


@pytest.mark.parametrize("exercise", [PACK, DOT], ids=lambda exercise: exercise.name)
def test_a_kept_first_code_is_0_with_and_without_a_0_beside_it(exercise):
    case = exercise.cases()[0]
    (first, second), (kept, _) = halves_of(case.W_q), halves_of(case.kept)
    assert (kept & (first == 0) & (second == 0)).any()
    assert (kept & (first == 0) & (second != 0)).any()


def test_a_weight_without_a_partner_is_kept_here_and_pruned_there():
    alone = torch.cat([case.kept[:, -4:].flatten() for case in CASES if case.W_q.shape[1] == 700])
    assert alone.any() and not alone.all()


@pytest.mark.parametrize(
    "case", [case for case in DOT.cases() if case.is_exact], ids=lambda case: case.label
)
def test_right_outputs_are_exact_in_half_precision_or_round_once_from_float32(case):
    W = (case.W_q.double() - case.zeros) * case.scales * case.kept
    exact = reference.matmul(case.x, W)
    is_fine = "almost cancel" in case.label or "22 bits" in case.label
    type = torch.float32 if is_fine else torch.float16
    assert torch.equal(exact, exact.to(type).double())


@pytest.mark.parametrize(
    "name, remark",
    [
        ("reads_both", "dequant_dot_sparse: a lane reads 2.00 x per pair; 1 is enough"),
        ("lanes_part_ways", "dequant_dot_sparse: a pair takes 2.00 requests to x_shared"),
        ("index_then_read", "dequant_dot_sparse: right, bit for bit in 7 cases"),
    ],
)
def test_right_answers_hear_what_they_read_too_much(name, remark, capsys):
    check("dequant_dot_sparse", (RIGHT / f"{name}.cu").read_text())
    assert capsys.readouterr().out.startswith(remark)
