"""The picture of Split-K: its text says what each program of gemm_splitk adds up."""

import re
import sys

import IPython.display
import pytest

from gemlite_lab import draw

drawing = sys.modules["gemlite_lab.draw.chunks"]  # draw.chunks is the function
_LINE = re.compile(r"chunk (\d+): k = (\d+) to (\d+), tiles (\d+) to (\d+), groups (\d+) to (\d+)")


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("K, tile, group_size", [(1536, 128, 256), (1536, 128, 64), (400, 64, 48)])
def test_the_chunks_are_all_of_k_and_in_their_groups(
    K, tile, group_size, count, capsys, monkeypatch
):
    monkeypatch.setattr(drawing, "_draw", lambda *_: None)
    draw.chunks(K, tile, group_size, count)
    lines = capsys.readouterr().out.splitlines()[1:]
    assert len(lines) == count
    seen = []
    for number, line in enumerate(lines):
        if line == f"chunk {number}: nothing is left for it":
            continue
        chunk, *numbers = map(int, _LINE.fullmatch(line).groups())
        first_k, last_k = numbers[:2]
        assert chunk == number and first_k % tile == 0
        ends = first_k // tile, last_k // tile, first_k // group_size, last_k // group_size
        assert tuple(numbers[2:]) == ends
        seen += range(first_k, last_k + 1)
    assert seen == list(range(K))


def test_the_chunks_are_those_of_the_kernel(capsys, monkeypatch):
    """tiles_of_a_chunk = cdiv(tiles, chunks), in whole tiles."""
    monkeypatch.setattr(drawing, "_draw", lambda *_: None)
    draw.chunks(12 * 128, 128, 128, 5)
    tiles = re.findall(r"tiles (\d+) to (\d+)", capsys.readouterr().out)
    assert tiles == [("0", "2"), ("3", "5"), ("6", "8"), ("9", "11")]


@pytest.mark.parametrize("arguments", [(1536, 128, 256, 4), (4096, 16, 16, 3), (400, 64, 48, 9)])
def test_it_shows_one_picture(arguments, monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    draw.chunks(*arguments)
    (picture,) = shown
    assert picture.data.startswith(b"\x89PNG") and picture.alt
    assert len(picture.data) < 30_000


def test_a_number_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 128, 0, 16 and 2"):
        draw.chunks(128, 0, 16, 2)
