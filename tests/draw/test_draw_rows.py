"""The picture of what computes how many rows: its text says what the table says."""

import IPython.display
import pytest

from gemlite_edu.operators.choose import INT4_RULES, Rows, choose, limits
from gemlite_lab import draw


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    pictures = []
    monkeypatch.setattr(IPython.display, "display", pictures.append)
    return pictures


def test_the_table_as_text_and_as_one_picture(shown, capsys):
    draw.rows(
        {"a kind": ((1, "GEMV"), (64, "SPLIT"), (None, "GEMM")), "another": ((None, "GEMM"),)}
    )
    assert capsys.readouterr().out.splitlines() == [
        "a kind: 1 GEMV, 2 to 64 SPLIT, from 65 on GEMM",
        "another: from 1 on GEMM",
    ]
    (picture,) = shown
    assert picture.data.startswith(b"\x89PNG") and len(picture.data) < 30_000
    assert picture.alt == "Bars over M: which of GEMV, SPLIT, GEMM computes how many rows of x"


def test_it_says_what_the_layer_chooses(capsys):
    draw.rows({"int4": limits(Rows(1), INT4_RULES)})
    _, _, stretches = capsys.readouterr().out.strip().partition(": ")
    for stretch in stretches.split(", "):
        *ends, name = stretch.removeprefix("from ").replace(" on ", " 4096 ").split()
        ends = [int(end) for end in ends if end != "to"]
        rows = map(Rows, range(ends[0], ends[-1] + 1))
        assert {choose(M, INT4_RULES).matmul_type for M in rows} == {name}


@pytest.mark.parametrize("limits", [(1, 64), (None, None), (64, 1, None), (8, 8, None), (0, None)])
def test_limits_that_cannot_be_are_refused(limits, shown):
    with pytest.raises(ValueError, match="^limits must ascend and end with None, got"):
        draw.rows({"a kind": tuple((limit, "GEMM") for limit in limits)})
    assert not shown
