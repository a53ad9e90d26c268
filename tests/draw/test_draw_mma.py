"""The picture of one mma: which lane holds what, as the simulator's mma takes and gives it."""

import sys

import pytest
import torch

from gemlite_lab import MMA, launch
from gemlite_lab.draw.mma import mma, registers

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.mma"]
SHAPES = {"A": (16, 16), "B": (16, 8), "C": (16, 8)}
TEXT = """
__global__ void one_mma(const uint32_t* A, const uint32_t* B, float* C) {
  uint32_t a[4], b[2];
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int i = 0; i < 4; ++i) a[i] = A[4 * threadIdx.x + i];
  for (int i = 0; i < 2; ++i) b[i] = B[2 * threadIdx.x + i];
  mma(c, a, b);
  for (int i = 0; i < 4; ++i) C[4 * threadIdx.x + i] = c[i];
}
"""


def places(name):
    """[row, column] of all elements, in the order of lanes, registers and halves."""
    return torch.tensor([registers(name, lane) for lane in range(32)]).flatten(0, -2).T


@pytest.mark.parametrize("name", SHAPES)
def test_each_element_lies_in_one_register(name):
    rows, columns = SHAPES[name]
    found = places(name)
    assert sorted(map(tuple, found.T.tolist())) == [
        (r, c) for r in range(rows) for c in range(columns)
    ]


def test_the_simulators_mma_takes_and_gives_them_there():
    A, B = torch.randint(-9, 10, (16, 16)).half(), torch.randint(-9, 10, (16, 8)).half()
    in_lanes = [matrix[*places(name)].view(torch.int32) for name, matrix in (("A", A), ("B", B))]
    sums = torch.zeros(128)
    launch(TEXT, 1, 32, MMA, A=in_lanes[0], B=in_lanes[1], C=sums)
    assert torch.equal(sums, (A.float() @ B.float())[*places("C")])


def test_the_lane_is_in_colour_and_printed(monkeypatch, capsys):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    mma(9)
    for axes, name in zip(figures[0].axes, SHAPES, strict=True):
        found = {
            text.get_text(): text.get_position() for text in axes.texts if "[" in text.get_text()
        }
        assert found == {
            f"{name.lower()}[{i}]": (
                sum(c for _, c in cells) / len(cells) + 0.5,
                sum(r for r, _ in cells) / len(cells) + 0.5,
            )
            for i, cells in enumerate(registers(name, 9))
        }
        lanes = [int(text.get_text()) for text in axes.texts if "[" not in text.get_text()]
        assert sorted(lanes) == sorted([n for n in range(32) if n != 9] * len(found))
    out = capsys.readouterr().out.splitlines()
    assert out[2] == "lane 9, a[2]: A(2, 10) and A(2, 11)"
    assert out[5] == "lane 9, b[1]: B(10, 2) and B(11, 2)"
    assert out[9] == "lane 9, c[3]: C(10, 3)"


@pytest.mark.parametrize("lane", [-1, 32])
def test_another_lane_is_refused(lane, shown):
    with pytest.raises(ValueError, match=f"^a warp has lanes 0 to 31, got {lane}$"):
        mma(lane)
    assert not shown
