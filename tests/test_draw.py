import IPython.display
import pytest
import torch

from gemlite_edu import draw


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    pictures = []
    monkeypatch.setattr(IPython.display, "display", pictures.append)
    yield pictures
    assert pictures and all(p.data.startswith(b"\x89PNG") and p.alt for p in pictures)


@pytest.mark.parametrize("nbits", range(1, 9))
def test_a_word_lists_its_fields_from_the_top(nbits, capsys):
    draw.word(nbits, col=33)
    _, bits, k = capsys.readouterr().out.splitlines()
    assert bits.split()[1] == f"31-{32 - nbits}"
    codes = 32 // nbits
    assert k.split()[1:] == [str(32 * codes + 1 + 32 * j) for j in range(codes)]


def test_warp_words_lists_the_codes_of_each_word(capsys):
    draw.warp_words(8, words=2)
    assert capsys.readouterr().out.splitlines() == [
        "word 0 of a row: k = 0, 32, 64, 96",
        "word 1 of a row: k = 1, 33, 65, 97",
    ]


@pytest.mark.parametrize(
    "stride, bytes_each, base, expected",
    [
        (2, 2, 0, 2),
        (4, 4, 0, 4),
        (4, 4, 4, 5),
        (8, 4, 0, 8),
        (128, 4, 0, 32),
        (0, 4, 0, 1),
        (16, 16, 0, 16),
    ],
)
def test_sectors_are_the_32_byte_blocks_touched(stride, bytes_each, base, expected, capsys):
    assert draw.sectors([base + stride * lane for lane in range(32)], bytes_each) == expected


@pytest.mark.parametrize(
    "stride, bytes_each, expected",
    [(4, 4, 1), (8, 4, 2), (128, 4, 32), (132, 4, 1), (2, 2, 1), (0, 4, 1)],
)
def test_wavefronts_are_the_distinct_words_in_the_fullest_bank(
    stride, bytes_each, expected, capsys
):
    assert draw.banks([stride * lane for lane in range(32)], bytes_each) == expected


def test_curves_and_histograms_print_their_numbers(capsys):
    draw.curves([4, 8], {"error": [0.5, 0.25]}, "bits", "error", "title")
    draw.histogram({"W": torch.arange(100.0)}, "value", "title")
    out = capsys.readouterr().out
    assert "0.5      0.25" in out
    assert "W: min 0, max 99, standard deviation 29" in out
