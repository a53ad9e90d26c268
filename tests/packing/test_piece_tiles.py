"""The layout of codes in pieces: where each bit lies, and that no bit is idle."""

import pytest
import torch

from gemlite_edu.kernels.fast_weights import FastWeights
from gemlite_edu.packing.piece_tiles import PieceTiles, pack_piece_tiles, unpack_piece_tiles
from gemlite_edu.packing.plane_tiles import DEPTH

SHAPES = [(1, None), (100, None), (96, 32), (64, 16), (384, 128), (1536, 512), (544, 17)]
LAYOUTS = [PieceTiles(nbits, *shape) for nbits in (3, 5, 6, 7) for shape in SHAPES]
any_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=str)


def codes(nbits, N, K):
    return torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8)


@any_layout
@pytest.mark.parametrize("N", [1, 7])
def test_codes_come_back(layout, N):
    W_q = codes(layout.nbits, N, layout.K)
    words = pack_piece_tiles(W_q, layout)
    assert words.shape == layout.shape(N) and words.dtype == torch.int32 and words.is_contiguous()
    assert torch.equal(unpack_piece_tiles(words, layout), W_q)


@pytest.mark.parametrize("nbits", [3, 5, 6, 7])
def test_no_bit_is_idle(nbits):
    layout = PieceTiles(nbits, K=512)
    words = pack_piece_tiles(torch.full((3, 512), 2**nbits - 1, dtype=torch.uint8), layout)
    assert (words == -1).all() and words.numel() * 32 == 3 * 512 * nbits


@pytest.mark.parametrize("N", range(1, 18))
def test_what_a_lane_loads_at_once_is_aligned(N):
    """A tile's words are in loads of two halves of all rows: 16 bytes for a lane, at last 8."""
    for layout in LAYOUTS:
        bytes_of_a_tile = layout.shape(N)[2] * N * 4
        assert bytes_of_a_tile % 16 == 0 and layout.halves % 2 == 1


@pytest.mark.parametrize("nbits", [3, 5, 6, 7])
def test_each_code_is_where_a_lane_looks_for_it(nbits):
    """By the definition, bit by bit, in Python's integers."""
    layout, N = PieceTiles(nbits, K=PieceTiles(nbits, 1).tile), 3
    W_q, half_bits = codes(nbits, N, layout.K), 16
    words = pack_piece_tiles(W_q, layout).flatten().view(torch.int16).tolist()
    fields, halves, rest = 16 // nbits, layout.K // DEPTH * nbits // half_bits, 16 % nbits
    for n in range(N):
        for column in range(DEPTH):
            lane, neighbour, of_lane = column // 4, column % 4, []
            for half in range(halves):
                in_load = min(2, halves - half // 2 * 2)  # halves that a load holds
                start = half // 2 * 2 * N * DEPTH + (n * 4 + lane) * in_load * 4
                of_lane.append(words[start + half % 2 * 4 + neighbour] & 0xFFFF)
            found = [of_lane[p // fields] >> p % fields * nbits for p in range(halves * fields)]
            rests = sum(h >> fields * nbits << i * rest for i, h in enumerate(of_lane))
            found += [rests >> i * nbits for i in range(layout.K // DEPTH - len(found))]
            expected = W_q[n].view(-1, DEPTH)[:, column].tolist()
            assert [code & 2**nbits - 1 for code in found] == expected


def test_a_tile_is_a_step_of_the_kernel():
    steps = {nbits: FastWeights(nbits).step for nbits in range(1, 9)}
    assert steps == {1: 256, 2: 256, 3: 256, 4: 128, 5: 256, 6: 128, 7: 256, 8: 64}


@pytest.mark.parametrize(
    "arguments, message",
    [((4, 64), "nbits must be 7, 6, 5 or 3, got 4"), ((3, 64, 48), "48 does not divide K = 64")],
)
def test_what_cannot_be_gets_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        PieceTiles(*arguments)
