"""The picture of a launch: its text names the numbers of the thread that is picked out."""

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


def test_the_levels_as_text_and_as_one_picture(shown, capsys):
    draw.threads(blocks=3, threads=64, i=101)
    assert capsys.readouterr().out.splitlines() == [
        "grid: 3 blocks of 64 threads; one global memory for all of them",
        "block 1: 2 warps of 32 lanes, a shared memory of its own",
        "warp 1 of block 1: threads 32 to 63 of the block",
        "lane 5 of that warp: threadIdx.x = 37, registers of its own",
        "    its number in the grid: 1 * 64 + 37 = 101",
    ]
    (picture,) = shown
    assert picture.alt.startswith("A grid of 3 blocks; each has 2 warps of 32 lanes and a shared")
    assert Image.open(io.BytesIO(picture.data)).width == 1600 and len(picture.data) < 40_000


@pytest.mark.parametrize("i", [0, 127, 255])
def test_the_number_is_made_of_the_block_and_the_thread(i, capsys):
    draw.threads(blocks=2, threads=128, i=i)
    last = capsys.readouterr().out.splitlines()[-1]
    block, thread = map(
        int, last.replace("its number in the grid:", "").split("=")[0].split("* 128 +")
    )
    assert block * 128 + thread == i and last.endswith(f"= {i}")


@pytest.mark.parametrize("how", [(4, 64), (0, 64), (3, 33), (3, 160)])
def test_a_launch_without_room_is_refused(how, shown):
    with pytest.raises(ValueError, match=f"room for .*, got {how[0]} of {how[1]}"):
        draw.threads(*how, i=0)
    assert not shown


@pytest.mark.parametrize("i", [-1, 128])
def test_a_thread_that_is_not_there_is_refused(i):
    with pytest.raises(ValueError, match=f"the threads are numbered 0 to 127, got {i}"):
        draw.threads(blocks=2, threads=64, i=i)
