"""The picture of bytes of two codes: the address map, and what the kernels really load."""

import re
import sys

import pytest
import torch

from gemlite_edu import pack_2xint4
from gemlite_edu.operators.int4_weight import Int4Weight
from gemlite_edu.operators.mixed_mm import fused
from gemlite_edu.packing.int4_pairs import Int4Pairs
from gemlite_lab import draw

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.int4_pairs"]  # draw.int4_pairs is the function
SIGNED = [[-8, 7, -1, 0], [3, -4, 5, -6]]  # (K, N)


@pytest.fixture
def figures(monkeypatch):
    """The figures that are shown, before they become pictures."""
    found = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: found.append(figure))
    return found


def codes(dtype, K=8, N=4):
    low = -8 if dtype == torch.int8 else 0
    generator = torch.Generator().manual_seed(1)
    return torch.randint(low, low + 16, (K, N), generator=generator).to(dtype)


def expected(W):
    """{(byte, first bit, n): (k, code)} of codes (K, N), by the address map."""
    found = {}
    for k, row in enumerate(W.tolist()):
        for n, code in enumerate(row):
            address = Int4Pairs().locate(n, k)
            found[address.row, address.shift, address.col] = k, code
    return found


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
def test_each_nibble_is_drawn_where_the_address_map_says(dtype, figures):
    W = codes(dtype)
    draw.int4_pairs(pack_2xint4(W))
    (axes,) = figures[0].axes
    found = {}
    for text in axes.texts:
        k, n, code = map(int, re.findall(r"-?\d+", text.get_text()))
        x, y = text.get_position()
        byte, from_the_left = divmod(x, 8)  # the middle of a nibble: 2 or 6
        assert y == n + 0.5
        found[int(byte), {2: 4, 6: 0}[from_the_left], n] = k, code
    assert found == expected(W)
    boxes = [patch for patch in axes.patches if patch.get_width() == 4]
    middles = sorted((patch.get_x() + 2, patch.get_y() + 0.5) for patch in boxes)
    assert middles == sorted(text.get_position() for text in axes.texts)
    bits = "bits 7-4 of a byte on the left, bits 3-0 on the right"
    assert axes.get_title() == f"{str(dtype).removeprefix('torch.')}: {bits}"
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"n = {n}" for n in range(4)]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
def test_the_text_says_the_same(dtype, capsys):
    W = codes(dtype)
    packed = pack_2xint4(W)
    draw.int4_pairs(packed)
    found = {}
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == f"{str(dtype).removeprefix('torch.')} bytes of two codes, bits 7-4 first"
    for line in lines:
        name, _, listed = line.partition(": ")
        n = int(name.removeprefix("n = "))
        for byte, text in enumerate(listed.split("; ")):
            hexadecimal, codes_of_byte = text.split(" ", 1)
            assert int(hexadecimal, 16) == packed[byte, n].item() & 255
            pairs = re.findall(r"k = (\d+): (-?\d+)", codes_of_byte)
            for shift, (k, code) in zip((4, 0), pairs, strict=True):
                found[byte, shift, n] = int(k), int(code)
    assert found == expected(W)


def test_a_byte_of_signed_codes_as_text(capsys):
    draw.int4_pairs(pack_2xint4(torch.tensor(SIGNED, dtype=torch.int8)))
    assert capsys.readouterr().out.splitlines() == [
        "int8 bytes of two codes, bits 7-4 first",
        "n = 0: 0x38 (k = 1: 3, k = 0: -8)",
        "n = 1: 0xc7 (k = 1: -4, k = 0: 7)",
        "n = 2: 0x5f (k = 1: 5, k = 0: -1)",
        "n = 3: 0xa0 (k = 1: -6, k = 0: 0)",
    ]


def loaded(packed, block_n, block_k, transposed, monkeypatch):
    """The bytes {(row, column)} that program 0 of the interpreted kernel loads, turn by turn."""
    from triton.runtime.interpreter import InterpreterBuilder

    turns, start = [], packed.data_ptr()
    original = InterpreterBuilder.create_masked_load

    def recording(builder, pointers, *arguments):
        offsets = pointers.data.astype("int64") - start
        if ((offsets >= 0) & (offsets < packed.nbytes)).all():
            columns, rows = divmod(offsets.ravel(), packed.shape[0])  # `.T` is contiguous
            turns.append(set(zip(rows.tolist(), columns.tolist(), strict=True)))
        return original(builder, pointers, *arguments)

    monkeypatch.setattr(InterpreterBuilder, "create_masked_load", recording)
    K, N = 2 * packed.shape[0], packed.shape[1]
    scales = torch.ones(1, N)
    config = {"BLOCK_M": 16, "BLOCK_N": block_n, "BLOCK_K": block_k, "chunks": 1}
    config |= {"num_warps": 1, "num_stages": 1}
    a = torch.ones(1, N if transposed else K).half()
    fused(a, Int4Weight(packed, scales, scales, K), transposed, config)
    return turns[:2]


@pytest.mark.parametrize("block_n, block_k", [(2, 4), (4, 4), (1, 2), (4, 2)])
def test_the_tiles_are_what_the_kernels_load(block_n, block_k, figures, capsys, monkeypatch):
    packed = pack_2xint4(codes(torch.uint8, N=8))
    draw.int4_pairs(packed, block_n, block_k)
    text = capsys.readouterr().out
    for axes, transposed in zip(figures[0].axes[1:], (False, True), strict=True):
        name = "transposed" if transposed else "forward"
        assert axes.get_title() == f"{name}: program 0 reads"
        tiles = loaded(packed, block_n, block_k, transposed, monkeypatch)
        words = {
            ((x - 4) / 8, y - 0.5): t.get_text() for t in axes.texts for x, y in [t.get_position()]
        }
        assert words == {place: f"turn {turn}" for turn in (0, 1) for place in tiles[turn]}
        places = {(patch.get_x() / 8, patch.get_y()): patch.get_hatch() for patch in axes.patches}
        assert places == {place: ["", "//"][turn] for turn in (0, 1) for place in tiles[turn]}
        for turn, tile in enumerate(tiles):
            rows, columns = (sorted(set(places)) for places in zip(*tile, strict=True))
            assert (
                f"{name}, turn {turn}: n = {columns[0]} to {columns[-1]}, "
                f"k = {2 * rows[0]} to {2 * rows[-1] + 1}, "
                f"bytes {rows[0]} to {rows[-1]} of each n\n"
            ) in text


def test_it_shows_one_picture_with_and_without_tiles(shown):
    packed = pack_2xint4(codes(torch.uint8))
    draw.int4_pairs(packed)
    draw.int4_pairs(packed, 2, 4)
    draw.int4_pairs(packed[:1, :1].view(torch.int8))
    start = "4 rows of 4 uint8 bytes: the k, n and code of each nibble"
    assert [picture.alt for picture in shown] == [
        start,
        f"{start}; below, the bytes that each product reads in two turns",
        "1 row of 1 int8 byte: the k, n and code of each nibble",
    ]


@pytest.mark.parametrize(
    "block_n, block_k", [(5, 4), (4, 6), (2, 3), (0, 4), (2, 0), (None, 4), (2, None), (2.0, 4)]
)
def test_tiles_that_do_not_fit_twice_are_refused(block_n, block_k, shown, capsys):
    message = "^block_n and block_k, which is even, must fit twice into N = 8 and K = 8, got"
    with pytest.raises(ValueError, match=message):
        draw.int4_pairs(pack_2xint4(codes(torch.uint8, N=8)), block_n, block_k)
    assert not shown and not capsys.readouterr().out


@pytest.mark.parametrize("K, N", [(10, 1), (2, 9)])
def test_more_than_can_be_read_is_refused(K, N, shown):
    with pytest.raises(ValueError, match=r"^packed must be from \(1, 1\) to \(4, 8\), got"):
        draw.int4_pairs(pack_2xint4(codes(torch.uint8, K, N)))
    assert not shown


@pytest.mark.parametrize("other", [[[1]], torch.ones(2, 2), torch.ones(2, 2, dtype=torch.int32)])
def test_other_bytes_are_refused(other):
    with pytest.raises(TypeError, match=r"^packed must be a torch.uint8 or torch.int8 tensor, got"):
        draw.int4_pairs(other)
