"""The layout of the Triton kernels: where each code lies, and what is padded."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gemlite_edu.packing.plain_tiles import PlainTiles, tile_plain, untile_plain
from gemlite_edu.packing.plane_tiles import (
    DEPTH,
    PlaneTiles,
    best_layout,
    pack_plane_tiles,
    pack_with_high,
    unpack_plane_tiles,
)

WIDTHS = [1, 2, 3, 4, 8]
SHAPES = [(16, None), (100, None), (96, 24), (96, 48), (544, 17), (4096, 128), (384, 32), (64, 16)]


def layouts():
    for nbits in WIDTHS:
        for K, group_size in SHAPES:
            for word_bits in (16, 32) if nbits == 3 else (8, 16, 32):
                yield PlaneTiles(nbits, K, group_size, word_bits)


def codes(nbits, N, K):
    return torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8)


@pytest.mark.parametrize("layout", [PlaneTiles(4, 96, 24, 32), PlaneTiles(3, 100, None, 16)])
def test_rows_packed_in_blocks_are_those_packed_at_once(layout, monkeypatch):
    W_q = codes(layout.nbits, 5, layout.K)
    at_once = pack_plane_tiles(W_q, layout)
    monkeypatch.setattr("gemlite_edu.numbers.coded_weight._WEIGHTS_AT_ONCE", 2 * layout.K)
    assert torch.equal(pack_plane_tiles(W_q, layout), at_once)


@pytest.mark.parametrize("layout", list(layouts()), ids=str)
def test_codes_come_back(layout):
    W_q = codes(layout.nbits, 5, layout.K)
    words, high = pack_with_high(W_q, layout)
    assert tuple(words.shape) == layout.shape(5)
    found = unpack_plane_tiles(words, layout)
    if layout.nbits == 3:
        assert high.shape == words.shape
        found |= unpack_plane_tiles(high, layout.high) << 2
    assert torch.equal(found, W_q)


@pytest.mark.parametrize("layout", list(layouts()), ids=str)
def test_a_code_lies_where_the_map_says_and_nowhere_else(layout):
    n, k = 2, layout.K - 1
    W_q = torch.zeros(4, layout.K, dtype=torch.uint8)
    W_q[n, k] = 1
    words = pack_plane_tiles(W_q, layout)
    where = layout.locate(n, k)
    tile, word = divmod(where.col, DEPTH)
    bits = 2**layout.word_bits - 1
    assert words[tile, where.row, word].item() & bits == 1 << where.shift
    assert words.count_nonzero() == 1


@pytest.mark.parametrize("layout", list(layouts()), ids=str)
def test_groups_are_whole_planes_and_a_part_or_a_multiple_of_a_tile(layout):
    planes, rest = divmod(layout.padded_group, DEPTH)
    assert rest == 0
    assert layout.fields % planes == 0 or planes % layout.fields == 0
    assert layout.padded_K % layout.tile == 0
    groups_of = [layout.place(k) // layout.padded_group for k in range(layout.K)]
    group_size = layout.group_size or layout.K
    assert groups_of == [k // group_size for k in range(layout.K)]


@pytest.mark.parametrize("layout", list(layouts()), ids=str)
def test_x_is_padded_as_the_codes_are(layout):
    x = torch.arange(1, layout.K + 1).reshape(1, -1)
    padded = layout.pad(x)[0]
    assert len(padded) == layout.padded_K
    places = [layout.place(k) for k in range(layout.K)]
    assert torch.equal(padded[places], x[0])
    assert padded.sum() == x.sum()


@pytest.mark.parametrize("nbits", WIDTHS)
@pytest.mark.parametrize("group_size", [16, 32, 64, 128, 256])
def test_usual_groups_are_not_padded(nbits, group_size):
    layout = best_layout(nbits, 4096, group_size)
    assert (layout.padded_group, layout.padded_K) == (group_size, 4096)


@given(
    nbits=st.sampled_from(WIDTHS),
    groups=st.integers(1, 9),
    group_size=st.integers(1, 200),
    is_grouped=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_the_best_layout_pads_least(nbits, groups, group_size, is_grouped):
    K = groups * group_size
    layout = best_layout(nbits, K, group_size if is_grouped else None)
    assert layout.fields <= 16
    assert K <= layout.padded_K
    W_q = codes(nbits, 2, K)
    low = W_q & 3 if nbits == 3 else W_q
    assert torch.equal(unpack_plane_tiles(pack_plane_tiles(W_q, layout), layout), low)


def test_scales_of_the_padding_are_0():
    layout = PlaneTiles(4, 48, 16, word_bits=16)  # 3 groups of a plane, in a tile of 4
    padded = layout.pad_groups(torch.ones(3, 5))
    assert padded.tolist() == [[1.0] * 5] * 3 + [[0.0] * 5]


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn, torch.float16])
@pytest.mark.parametrize("K", [1, 64, 100])
def test_weights_that_are_not_packed_come_back(dtype, K):
    W, layout = torch.randn(3, K).to(dtype), PlainTiles(dtype, K)
    tiles = tile_plain(W, layout)
    assert tuple(tiles.shape) == layout.shape(3)
    assert torch.equal(untile_plain(tiles, layout).float(), W.float())


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((5, 64), "nbits must be 8, 4, 3, 2 or 1, got 5"),
        ((4, 64, None, 64), "word_bits must be one of"),
        ((3, 64, None, 8), "word_bits must be one of"),
        ((4, 64, 48), "group_size = 48 does not divide K = 64"),
    ],
)
def test_what_cannot_be_gets_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        PlaneTiles(*arguments)
