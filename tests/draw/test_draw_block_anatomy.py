"""The picture of a block: each of its arrows is a function of the kernel."""

import pytest

from gemlite_edu.kernels import sources
from gemlite_lab import draw
from gemlite_lab.draw.block_anatomy import ARROWS

pytestmark = pytest.mark.usefixtures("shown")


def test_every_arrow_is_in_the_kernels_text():
    text = sources.expand("gemv_a16w3to8_fast")
    for arrow in ARROWS:
        assert arrow.function in text, arrow.function
    for name in ("x_shared", "partial", "totals", "next", "now"):
        assert name in text


def test_the_arrows_of_the_loop_are_in_the_loop():
    _, _, loop = sources.read("gemv_fast_blocks.cuh").partition("while (tile < tiles)")
    body, _, after = loop.partition("\n  }\n")
    before = sources.read("gemv_fast_blocks.cuh").partition("while (tile < tiles)")[0]
    assert "fetch_x(" in before and "load_step(" in body and "now = next" in body
    assert "add_step(" in body and "hand_in(" in body and "sum += partial" in after


def test_it_prints_what_it_shows(shown, capsys):
    draw.block_anatomy()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(ARROWS)
    assert lines[0] == "once        fetch_x        x -> x_shared"
    for arrow in ARROWS:
        assert f"{arrow.function} from {arrow.start} to {arrow.end}" in shown[0].alt
