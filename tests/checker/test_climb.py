"""The exercise `climb` names each rung that is reached, and the next one with its number."""

from pathlib import Path

import pytest

from gemlite_lab.checker import CheckFailed, check
from gemlite_lab.checker.wrong_answers import wrong_answers_to

TESTS = Path(__file__).parent.parent
NAMES = ("right", "side by side", "each word once", "x once a block", "two products a turn")
STANDING = ("one_thread_per_output", "a_word_for_each_code", "x_of_every_warp", "one_row_a_warp")


@pytest.fixture(autouse=True)
def own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))


@pytest.mark.parametrize("climbed", [1, 2, 3, 4])
def test_a_kernel_below_the_top_hears_what_it_reached_and_what_is_next(climbed):
    answer = wrong_answers_to("climb", TESTS)[STANDING[climbed - 1]]
    with pytest.raises(CheckFailed) as caught:
        check("climb", answer.text)
    head, *lines = str(caught.value).splitlines()
    assert head.startswith(f"climb is right, and stands on rung {climbed} of 5.")
    told = [f"  rung {i}, {name}: " for i, name in enumerate(NAMES[:climbed], 1)]
    told.append(f"  next: rung {climbed + 1}, {NAMES[climbed]}: ")
    assert [line[: len(start)] for line, start in zip(lines, told, strict=True)] == told
    assert "(at most " in lines[-1]


def test_at_the_top_all_rungs_are_named(capsys):
    check("climb", (TESTS / "right/climb/two_rows.cu").read_text())
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:5]] == [
        f"  rung {i}, {name}" for i, name in enumerate(NAMES, 1)
    ]
    assert lines[5].startswith("climb: right")


def test_a_kernel_that_is_fast_at_the_counted_shape_alone_is_found_out():
    fast, slow = (
        (TESTS / path)
        .read_text()
        .replace("void gemv(", f"void {name}(")
        .replace("__global__", "__device__")
        for name, path in {
            "fast": "right/climb/two_rows.cu",
            "slow": "right/fused_gemv/plain.cu",
        }.items()
    )
    both = (
        f"{fast}{slow}__global__ void gemv(const X_T* x, const uint32_t* W_packed, "
        "const float* scales, const float* zeros, X_T* y, int N, int K) {\n"
        "  if (N == 64 && K == 4096) fast(x, W_packed, scales, zeros, y, N, K);\n"
        "  else slow(x, W_packed, scales, zeros, y, N, K);\n}\n"
    )
    with pytest.raises(CheckFailed, match="stands on rung 4 of 5. Of the call with N = 96"):
        check("climb", both)


def test_a_right_kernel_is_told_nothing_of_doubtful_lines():
    text = wrong_answers_to("climb", TESTS)["one_row_a_warp"].text
    doubtful = text.replace("float sum = 0.0f;", "float sum = 0.0f;  int tile_of_8_bits = 128;")
    assert doubtful != text
    with pytest.raises(CheckFailed) as caught:
        check("climb", doubtful)
    assert "Look at line" not in str(caught.value)
