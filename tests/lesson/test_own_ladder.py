"""The learner's own ladder: what score keeps, and how it is drawn beside the recorded one."""

import json

import pytest

from gemlite_edu import load
from gemlite_lab import own_ladder, score
from gemlite_lab.bench.score import NoScore, score_of
from gemlite_lab.draw import bars, benchmarks
from gemlite_lab.lesson.kept_scores import keep_score, kept_scores

SHARED, N, K = "gemv_a16w16_shared", 64, 256


@pytest.fixture
def record(tmp_path, monkeypatch):
    """The file that scores are kept in."""
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "work" / "progress.json"))
    return tmp_path / "work" / "scores.json"


@pytest.fixture
def row():
    return score_of(load(SHARED), N, K).row


def names():
    return [kept.row.kernel for kept in kept_scores()]


def test_a_right_kernel_becomes_a_row(record, capsys):
    found = score(load(SHARED), N, K, name="staged")
    (kept,) = kept_scores()
    assert kept.text == load(SHARED).source and not kept.is_measured
    assert vars(kept.row) == vars(found.row) | {"kernel": "staged"}
    assert capsys.readouterr().out == "own_ladder() has it as 'staged'\n"


def test_the_same_text_again_replaces_nothing_and_another_appends(record, capsys):
    score(load(SHARED), N, K, name="mine")
    before = record.read_text()
    score(load(SHARED), N, K, name="another name")
    assert record.read_text() == before
    score(load("gemv_a16w16_warp"), N, K, name="mine")
    assert names() == ["mine", "mine 2"]
    assert json.loads(record.read_text())[0] == json.loads(before)[0]


def test_another_shape_and_a_measurement_are_rows_of_the_same_name(record, row):
    assert keep_score("text", row, False, "mine") == "mine"
    assert keep_score("text", row, True, "other") == "mine"
    assert keep_score("text", type(row)(**vars(row) | {"N": 2 * N}), False) == "mine"
    assert names() == ["mine"] * 3


def test_a_wrong_kernel_and_one_without_a_time_are_not_kept(record):
    wrong = load(SHARED).with_changed_source(lambda text: text.replace("sum +=", "sum -="))
    with pytest.raises(NoScore):
        score(wrong, N, K)
    score(load("gemv_a16wn_fast", nbits=4, group_size=128), N, K)
    assert not record.exists()


def test_outside_a_workbook_nothing_is_kept(tmp_path, monkeypatch, row):
    monkeypatch.delenv("GEMLITE_EDU_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert keep_score("text", row, False, "mine") is None
    assert kept_scores() == [] and not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["[", "{}x", '[{"text": ""}]', "[1]"])
def test_a_damaged_file_gets_one_sentence_and_stays(record, text, row):
    record.parent.mkdir()
    record.write_text(text)
    with pytest.raises(ValueError, match="is damaged .* rename it to start afresh"):
        keep_score("text", row, False)
    assert record.read_text() == text


def at(row, us, N=4096, K=4096, **changed):
    times = {"p20_us": us * 0.8, "p50_us": us, "p80_us": us * 1.25, "N": N, "K": K}
    return type(row)(**vars(row) | times | changed)


def test_the_rows_stand_among_the_rungs_by_their_times(record, row, shown, capsys):
    keep_score("slow", at(row, 20.0), False, "first try")
    keep_score("fast", at(row, 5.2), False, "second try")
    own_ladder()
    lines = capsys.readouterr().out.splitlines()
    title = "NVIDIA H200, N x K = 4096 x 4096, M = 1: yours estimated, ours measured"
    assert lines[0] == title and len(shown) == 2
    order = [line.split(" W")[0] for line in lines[2:]]
    assert order.index("16 bytes a load") < order.index("yours: first try")
    assert order.index("yours: first try") < order.index("one by one")
    assert order.index("x before the weights") < order.index("yours: second try")
    assert "two steps ahead" not in order  # an idea that was not kept
    assert all(picture.alt.startswith(title) for picture in shown)
    assert sum("yours: " in line for line in lines) == 4  # in the ladder, under the roofline


def test_a_measurement_is_drawn_in_place_of_the_estimate(record, row, shown, capsys):
    keep_score("text", at(row, 20.0), True, "mine")
    keep_score("text", at(row, 30.0), False, "mine")
    own_ladder()
    out = capsys.readouterr().out
    assert ": yours measured, ours measured\n" in out
    assert out.count("20.0") and not out.count("30.0 ")


def test_the_title_says_so_if_some_are_measured_and_some_estimated(record, row, shown, capsys):
    keep_score("text", at(row, 20.0), True, "mine")
    keep_score("another", at(row, 30.0), False, "other")
    own_ladder()
    assert ": some of yours measured, some estimated, ours measured\n" in capsys.readouterr().out


def test_of_many_kernels_the_newest_are_drawn(record, row, monkeypatch):
    drawn = []
    monkeypatch.setattr(bars, "ladder", lambda rows, order, own, title: drawn.extend(own))
    monkeypatch.setattr(benchmarks, "roofline", lambda rows, title: None)
    for i in range(45):
        keep_score(f"text {i}", at(row, 20.0 + i), False, f"try {i}")
    own_ladder()
    assert sorted(drawn) == [f"yours: try {i}" for i in range(33, 45)]


def test_a_card_without_a_recorded_ladder_shows_yours_alone(record, row, shown, capsys):
    keep_score("text", at(row, 20.0, device="Another card"), True, "mine")
    own_ladder()
    out = capsys.readouterr().out
    assert out.startswith("Another card, N x K = 4096 x 4096, M = 1: yours measured\n")
    assert "one by one" not in out


def test_without_a_score_of_this_shape_there_is_one_sentence(record, row):
    with pytest.raises(ValueError, match="first; there are scores at no shape yet"):
        own_ladder()
    keep_score("text", row, False, "mine")
    with pytest.raises(ValueError, match="there are scores at N = 64, K = 256"):
        own_ladder()
