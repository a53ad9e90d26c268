import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gemlite_edu.packing import (
    WarpInterleaved,
    pack_by_map,
    pack_warped_int32,
    unpack_by_map,
    unpack_warped_int32,
)

property_test = settings(derandomize=True, deadline=None, max_examples=50)
any_width = pytest.mark.parametrize("nbits", range(1, 9))

WARP_SIZE = 32


def random_codes(N, K, nbits, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8, generator=generator)


def unsigned(words):
    return [[word % 2**32 for word in row] for row in words.tolist()]


@pytest.mark.parametrize(
    "nbits, pack_factor, idle_bits, tile",
    [
        (1, 32, 0, 1024),
        (2, 16, 0, 512),
        (3, 10, 2, 320),
        (4, 8, 0, 256),
        (5, 6, 2, 192),
        (6, 5, 2, 160),
        (7, 4, 4, 128),
        (8, 4, 0, 128),
    ],
)
def test_width_fixes_the_tile(nbits, pack_factor, idle_bits, tile):
    layout = WarpInterleaved(nbits)
    assert (layout.pack_factor, layout.idle_bits, layout.tile) == (pack_factor, idle_bits, tile)


@any_width
def test_rows_are_padded_to_whole_tiles_and_no_further(nbits):
    layout = WarpInterleaved(nbits)
    tile = layout.tile
    Ks = [1, tile - 1, tile, tile + 1, 2 * tile]
    assert [layout.padded_K(K) for K in Ks] == [tile, tile, tile, 2 * tile, 2 * tile]
    assert [layout.packed_shape(3, K) for K in Ks] == [(3, 32)] * 3 + [(3, 64)] * 2


@any_width
def test_word_of_a_lane_holds_every_32nd_code_first_one_highest(nbits):
    layout = WarpInterleaved(nbits)
    codes_per_word = 32 // nbits
    k_of = {
        (tile * WARP_SIZE + lane, 32 - nbits * (j + 1)): (
            tile * WARP_SIZE * codes_per_word + lane + j * WARP_SIZE
        )
        for tile in range(3)
        for lane in range(WARP_SIZE)
        for j in range(codes_per_word)
    }
    for (col, shift), k in k_of.items():
        assert layout.locate(n=5, k=k) == (5, col, shift)


@any_width
def test_no_two_codes_share_a_bit(nbits):
    layout = WarpInterleaved(nbits)
    N, K = 2, 2 * layout.tile
    rows, cols = layout.packed_shape(N, K)
    bits = set()
    for n in range(N):
        for k in range(K):
            row, col, shift = layout.locate(n, k)
            assert 0 <= row < rows
            assert 0 <= col < cols
            assert layout.idle_bits <= shift <= 32 - nbits
            bits |= {(row, col, shift + bit) for bit in range(nbits)}
    assert len(bits) == N * K * nbits


def test_eight_bit_words_are_what_one_writes_by_hand():
    W_q = torch.arange(256, dtype=torch.uint8).view(2, 128)
    words = unsigned(pack_warped_int32(W_q, 8))
    assert words[0][0] == 0x00_20_40_60
    assert words[0][31] == 0x1F_3F_5F_7F
    assert words[1][0] == 0x80_A0_C0_E0


def test_three_bit_words_are_what_one_writes_by_hand():
    W_q = torch.zeros(1, 330, dtype=torch.uint8)
    W_q[0, 0], W_q[0, 33], W_q[0, 289], W_q[0, 329] = 5, 3, 7, 6
    words = unsigned(pack_warped_int32(W_q, 3))[0]
    expected = [0] * 64
    expected[0] = 5 << 29
    expected[1] = 3 << 26 | 7 << 2
    expected[32 + 9] = 6 << 29
    assert words == expected


def packed_as_in_the_blog(W_q, nbits):
    """The bitpacking of "Gemlite: Towards Building Custom Low-Bit Fused CUDA Kernels"."""
    step = 32 // nbits
    rows = W_q.to(torch.int32).view(-1, 32)
    packed = torch.zeros_like(rows[::step])
    for i in range(step):
        packed |= rows[i::step] << (32 - nbits * (i + 1))
    return packed.reshape(W_q.shape[0], W_q.shape[1] // step)


@pytest.mark.parametrize("nbits", [8, 4, 2, 1])
@pytest.mark.parametrize("K", [1024, 3072])
def test_widths_that_divide_a_word_pack_as_in_the_blog(nbits, K):
    W_q = random_codes(5, K, nbits)
    assert torch.equal(pack_warped_int32(W_q, nbits), packed_as_in_the_blog(W_q, nbits))


@st.composite
def ragged_codes(draw):
    nbits = draw(st.integers(1, 8))
    N = draw(st.integers(1, 3))
    K = draw(st.integers(1, 2 * WarpInterleaved(nbits).tile + 33))
    return random_codes(N, K, nbits, seed=draw(st.integers(0, 999))), nbits


@property_test
@given(ragged_codes())
def test_fast_packing_equals_the_map(codes):
    W_q, nbits = codes
    packed = pack_warped_int32(W_q, nbits)
    assert packed.dtype == torch.int32
    assert torch.equal(packed, pack_by_map(W_q, WarpInterleaved(nbits)))


@property_test
@given(ragged_codes())
def test_fast_unpacking_inverts_packing(codes):
    W_q, nbits = codes
    unpacked = unpack_warped_int32(pack_warped_int32(W_q, nbits), nbits, W_q.shape[1])
    assert unpacked.dtype == torch.uint8
    assert torch.equal(unpacked, W_q)


@any_width
def test_unpacking_any_words_equals_the_map(nbits):
    layout = WarpInterleaved(nbits)
    N, K = 2, layout.tile + 40
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(
        -(2**31), 2**31, layout.packed_shape(N, K), dtype=torch.int32, generator=generator
    )
    expected = unpack_by_map(words, layout, N, K)
    assert torch.equal(unpack_warped_int32(words, nbits, K), expected)


@any_width
def test_largest_codes_fill_all_but_the_idle_bits(nbits):
    layout = WarpInterleaved(nbits)
    W_q = torch.full((1, layout.tile), 2**nbits - 1, dtype=torch.uint8)
    full = 2**32 - 2**layout.idle_bits
    assert unsigned(pack_warped_int32(W_q, nbits)) == [[full] * 32]


@any_width
def test_padding_holds_code_zero(nbits):
    layout = WarpInterleaved(nbits)
    W_q = torch.full((2, layout.tile + 1), 2**nbits - 1, dtype=torch.uint8)
    everything = unpack_warped_int32(pack_warped_int32(W_q, nbits), nbits, 2 * layout.tile)
    assert torch.equal(everything[:, : layout.tile + 1], W_q)
    assert (everything[:, layout.tile + 1 :] == 0).all()


def test_transposed_codes_pack_as_their_copy():
    W_q = random_codes(300, 3, nbits=4).T
    before = W_q.clone()
    assert torch.equal(pack_warped_int32(W_q, 4), pack_warped_int32(W_q.contiguous(), 4))
    assert torch.equal(W_q, before)


def test_transposed_words_unpack_as_their_copy():
    words = pack_warped_int32(random_codes(3, 300, nbits=4), 4)
    transposed = words.T.contiguous().T
    assert torch.equal(unpack_warped_int32(transposed, 4, 300), unpack_warped_int32(words, 4, 300))


FIVES = torch.full((3, 70), 5, dtype=torch.uint8)
WORDS = torch.zeros(3, 32, dtype=torch.int32)

BAD_VALUES = {
    "code over the width": (lambda: pack_warped_int32(FIVES, 2), "5"),
    "codes of rank 1": (lambda: pack_warped_int32(FIVES[0], 4), r"\(70,\)"),
    "codes of rank 3": (lambda: pack_warped_int32(FIVES[None], 4), r"\(1, 3, 70\)"),
    "no columns": (lambda: pack_warped_int32(FIVES[:, :0], 4), r"\(3, 0\)"),
    "nbits 0": (lambda: pack_warped_int32(FIVES, 0), "0"),
    "nbits 9": (lambda: pack_warped_int32(FIVES, 9), "9"),
    "nbits 9 of a layout": (lambda: WarpInterleaved(9), "9"),
    "nbits 9 to unpack": (lambda: unpack_warped_int32(WORDS, 9, 70), "9"),
    "words of rank 1": (lambda: unpack_warped_int32(WORDS[0], 4, 70), r"\(32,\)"),
    "K over the words": (lambda: unpack_warped_int32(WORDS, 4, 257), r"257.*\(3, 32\)"),
    "K under the words": (lambda: unpack_warped_int32(WORDS, 4, 0), "at least 1, got 0"),
    "K negative": (lambda: unpack_warped_int32(WORDS, 4, -3), "-3"),
}

BAD_TYPES = {
    "int32 codes": (lambda: pack_warped_int32(FIVES.int(), 4), "int32"),
    "float codes": (lambda: pack_warped_int32(FIVES.float(), 4), "float32"),
    "list of codes": (lambda: pack_warped_int32(FIVES.tolist(), 4), "list"),
    "nbits float": (lambda: pack_warped_int32(FIVES, 4.0), "nbits.*float"),
    "nbits True": (lambda: pack_warped_int32(FIVES, True), "nbits.*bool"),
    "nbits True of a layout": (lambda: WarpInterleaved(True), "nbits.*bool"),
    "int64 words": (lambda: unpack_warped_int32(WORDS.long(), 4, 70), "int64"),
    "list of words": (lambda: unpack_warped_int32(WORDS.tolist(), 4, 70), "list"),
    "K float": (lambda: unpack_warped_int32(WORDS, 4, 70.0), "K.*float"),
}


@pytest.mark.parametrize("call, named", BAD_VALUES.values(), ids=BAD_VALUES.keys())
def test_bad_value_is_named_in_one_sentence(call, named):
    with pytest.raises(ValueError, match=named) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call, named", BAD_TYPES.values(), ids=BAD_TYPES.keys())
def test_bad_type_is_named_in_one_sentence(call, named):
    with pytest.raises(TypeError, match=named) as caught:
        call()
    assert "\n" not in str(caught.value)
