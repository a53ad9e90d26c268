import sys

import pytest
import torch

from gemlite_edu import pack_warped_int32, quantize_linear
from gemlite_lab import draw

drawing = sys.modules["gemlite_lab.draw.journey"]  # draw.journey is the function

K = 256
WEIGHT = torch.arange(K).remainder(61).sub(20).div(64)[None]
QUANTIZED = quantize_linear(WEIGHT, nbits=4)
WORDS = pack_warped_int32(QUANTIZED.W_q, nbits=4)
X = torch.arange(K).remainder(7).float()
KS = range(0, K, 32)


@pytest.fixture
def printed(capsys):
    """{the name of a row: its cells}"""

    def read():
        lines = capsys.readouterr().out.splitlines()
        return {line[:15].strip(): line[15:].split() for line in lines[:-1]}, lines[-1]

    return read


def test_the_word_leads_back_to_the_codes_and_to_the_sum(printed, shown):
    draw.journey(WEIGHT, QUANTIZED, WORDS, X)
    rows, last = printed()
    assert rows["k"] == [str(k) for k in KS]
    assert rows["codes"] == rows["codes again"] == [str(QUANTIZED.W_q[0, k].item()) for k in KS]
    assert f"word 0 is 0x{WORDS[0, 0].item() & 0xFFFFFFFF:08x}" in last
    assert int("".join(rows["a word"]), 2) == WORDS[0, 0].item() & 0xFFFFFFFF
    total = (QUANTIZED.dequantize()[0, KS] * X[KS]).sum()
    assert last.endswith(f"the sum so far: {total:.3f}")
    assert len(shown) == 1


def test_words_of_other_codes_do_not_lead_back(printed):
    draw.journey(WEIGHT, QUANTIZED, pack_warped_int32(15 - QUANTIZED.W_q, nbits=4), X)
    rows, _ = printed()
    assert all(
        int(a) + int(b) == 15 for a, b in zip(rows["codes"], rows["codes again"], strict=True)
    )


def test_the_picture_shows_what_is_printed(printed, monkeypatch):
    figures = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: figures.append(figure))
    draw.journey(WEIGHT, QUANTIZED, WORDS, X)
    rows, last = printed()
    texts = [text.get_text() for text in figures[0].axes[0].texts if text.get_text()]
    for name, cells in rows.items():
        if name != "k":
            assert name in texts
            first = texts.index(cells[0], texts.index(name) - len(cells) - 1)
            assert texts[first : first + len(cells)] == cells
    assert texts[-1] in last


def test_other_bits_and_groups_are_refused(shown):
    message = "^quantized must have 4 bits and one scale for each row, got {} bits and {} scales"
    with pytest.raises(ValueError, match=message.format(2, 1)):
        draw.journey(WEIGHT, quantize_linear(WEIGHT, nbits=2), WORDS, X)
    with pytest.raises(ValueError, match=message.format(4, 8)):
        draw.journey(WEIGHT, quantize_linear(WEIGHT, nbits=4, group_size=32), WORDS, X)
    assert not shown
