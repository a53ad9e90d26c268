"""The picture of threads against programs: its text says who has which numbers."""

import io

import IPython.display
import pytest
from PIL import Image

from gemlite_lab import draw


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    pictures = []
    monkeypatch.setattr(IPython.display, "display", pictures.append)
    return pictures


def test_the_blocks_as_text_and_as_one_picture(shown, capsys):
    draw.programs(N=6, BLOCK=4)
    assert capsys.readouterr().out.splitlines() == [
        "CUDA: 8 threads, each with a number i of its own and `if (i < N)`, N = 6",
        "Triton, program 0: i = [0, 1, 2, 3], i < N: [True, True, True, True]",
        "Triton, program 1: i = [4, 5, 6, 7], i < N: [True, True, False, False]",
    ]
    (picture,) = shown
    assert picture.alt.startswith("6 numbers: 8 CUDA threads with a number each, above 2 Triton")
    assert Image.open(io.BytesIO(picture.data)).width == 1600


@pytest.mark.parametrize("N, BLOCK", [(1, 1), (24, 8), (13, 4)])
def test_every_number_below_N_is_in_one_block(N, BLOCK, capsys):
    draw.programs(N, BLOCK)
    _, *lines = capsys.readouterr().out.splitlines()
    assert sum(line.count("True") for line in lines) == N


@pytest.mark.parametrize("N, BLOCK", [(17, 4), (25, 32), (0, 4)])
def test_what_has_no_room_is_refused(N, BLOCK, shown):
    with pytest.raises(ValueError, match="room for 1 to 4 programs and 24 numbers, got"):
        draw.programs(N, BLOCK)
    assert not shown


@pytest.mark.parametrize("BLOCK", [0, -4, 3])
def test_a_block_that_is_no_power_of_two_is_refused(BLOCK):
    with pytest.raises(ValueError, match=f"BLOCK must be a power of two, got {BLOCK}"):
        draw.programs(6, BLOCK)
