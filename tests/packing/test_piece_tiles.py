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
def test_each_piece_of_a_tile_begins_at_16_bytes(N):
    for layout in LAYOUTS:
        for part in layout.of_pieces(pack_piece_tiles(codes(layout.nbits, N, layout.K), layout)):
            assert part[0].is_contiguous() and part.storage_offset() * part.itemsize % 16 == 0


@pytest.mark.parametrize(("nbits", "shifts"), [(3, 0x3333), (5, 0x0F0F), (6, 0x0F0F), (7, 0x0F0F)])
def test_one_shift_and_mask_takes_the_first_piece_of_all_fields(nbits, shifts):
    """Half `joint` of the first piece, shifted and masked, is a half of joined fields."""
    layout = PieceTiles(nbits, K=PieceTiles(nbits, 1).tile)
    W_q = codes(nbits, 1, layout.K)
    first = layout.pieces[0].layout
    words = layout.of_pieces(pack_piece_tiles(W_q, layout))[0].flatten()[:DEPTH] & 0xFFFF
    fields = 16 // layout.field_bits
    for joint in range(layout.field_bits // first.nbits):
        joined = words >> joint * first.nbits & shifts
        for f in range(fields):
            plane = W_q[0].view(-1, DEPTH)[joint * fields + f]
            of_field = joined >> f * layout.field_bits & 2**layout.field_bits - 1
            assert torch.equal(of_field, (plane & 2**first.nbits - 1).int())


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
