import IPython.display
import pytest
from measured_rows import measured

from gemlite_lab import draw

MB = 1_000_000
ROWS = [
    measured("fp32", 90.0, weights="W8", bytes=60 * MB),
    measured("fp32", 80.0, weights="W1", bytes=8 * MB),
    measured("dp4a", 70.0, weights="W1", bytes=7 * MB),
    measured("cublas", 120.0, weights="W16", bytes=100 * MB),
]


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    pictures = []
    monkeypatch.setattr(IPython.display, "display", pictures.append)
    return pictures


def test_the_times_as_text_and_as_one_picture(shown, capsys):
    draw.time_against_bits(ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "Card: N x K = 100 x 1000, M = 1: median µs of a call",
        "kernel    W16    W8    W1",
        "fp32        -  90.0  80.0",
        "dp4a        -     -  70.0",
        "cublas  120.0     -     -",
        "limit       -  60.0   7.0",
    ]
    (picture,) = shown
    assert picture.data.startswith(b"\x89PNG") and len(picture.data) < 40_000
    assert picture.alt == (
        "Card: N x K = 100 x 1000, M = 1: times of 3 kernels from 8 to 1 bits, above their limit"
    )


def test_the_newest_row_is_drawn(capsys):
    draw.time_against_bits([measured("fp32", 1.0, weights="W8"), *ROWS])
    assert "90.0" in capsys.readouterr().out.splitlines()[2]


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "none of the rows has a time"),
        ([*ROWS, measured("fp32", 1.0, weights="W4", device="Other")], "the rows are of 2 devices"),
        ([*ROWS, measured("fp32", 1.0, weights="W4", M=2)], "the rows are of 2 problems"),
        (ROWS[3:], "the rows are of W16 only"),
        (
            [*ROWS, measured("fp32", 1.0, weights="W8 g128")],
            "fp32 has several rows of one width, W8",
        ),
        ([measured(f"k{i}", 1.0, weights="W8") for i in range(7)], "7 lines are too many"),
    ],
)
def test_rows_that_cannot_be_drawn_are_refused(rows, message, shown):
    with pytest.raises(ValueError, match=f"^{message}"):
        draw.time_against_bits(rows)
    assert not shown
