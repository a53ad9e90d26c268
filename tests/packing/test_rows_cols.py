import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gemlite_edu.packing import (
    OverCols,
    OverRows,
    pack_by_map,
    pack_over_cols,
    pack_over_rows,
    pack_warped_int32,
    unpack_by_map,
    unpack_over_cols,
    unpack_over_rows,
)

property_test = settings(derandomize=True, deadline=None, max_examples=50)
every_width = pytest.mark.parametrize("nbits", [8, 4, 2, 1])
every_word = pytest.mark.parametrize("word_bits", [8, 16, 32])
every_layout = pytest.mark.parametrize("layout_of", [OverCols, OverRows])

DTYPES = {8: torch.uint8, 16: torch.int16, 32: torch.int32}
PACK = {OverCols: pack_over_cols, OverRows: pack_over_rows}
COLUMN = torch.arange(1, 10, dtype=torch.uint8)[:, None]


def random_codes(N, K, nbits, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8, generator=generator)


def unpack(words, layout_of, nbits, N, K):
    if layout_of is OverCols:
        return unpack_over_cols(words, nbits, K)
    return unpack_over_rows(words, nbits, N)


def hexadecimal(words):
    digits = words.element_size() * 2
    return [[f"{word % 16**digits:0{digits}x}" for word in row] for row in words.tolist()]


@pytest.mark.parametrize(
    "word_bits, words",
    [
        (8, ["21", "43", "65", "87", "09"]),
        (16, ["4321", "8765", "0009"]),
        (32, ["87654321", "00000009"]),
    ],
)
def test_words_are_what_one_writes_by_hand(word_bits, words):
    over_rows = pack_over_rows(COLUMN, nbits=4, word_bits=word_bits)
    over_cols = pack_over_cols(COLUMN.T, nbits=4, word_bits=word_bits)
    assert hexadecimal(over_cols) == [words]
    assert hexadecimal(over_rows) == [[word] for word in words]
    assert over_cols.dtype == over_rows.dtype == DTYPES[word_bits]


def test_one_bit_codes_are_read_from_the_right():
    codes = torch.tensor([[1, 1, 0, 1, 0, 0, 0, 0, 1]], dtype=torch.uint8)
    assert pack_over_cols(codes, 1, word_bits=8).tolist() == [[0b00001011, 0b1]]


def test_rows_do_not_share_words_over_columns():
    codes = torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.uint8)
    assert hexadecimal(pack_over_cols(codes, 4, 8)) == [["21", "03"], ["54", "06"]]
    assert hexadecimal(pack_over_rows(codes, 4, 8)) == [["41", "52", "63"]]


def test_a_code_in_the_sign_bit_survives():
    codes = torch.tensor([[0, 0, 0, 255]], dtype=torch.uint8)
    words = pack_over_cols(codes, 8)
    assert words.tolist() == [[-(2**24)]]
    assert torch.equal(unpack_over_cols(words, 8, K=4), codes)


@every_width
@every_word
def test_shapes_are_those_of_gemlite(nbits, word_bits):
    """GemLite keeps (K / e, N): what was packed over columns, transposed."""
    codes_per_word = word_bits // nbits
    W_q = random_codes(96, 256, nbits)
    assert pack_over_cols(W_q, nbits, word_bits).T.shape == (256 // codes_per_word, 96)
    assert pack_over_rows(W_q, nbits, word_bits).shape == (96 // codes_per_word, 256)
    assert OverCols(nbits, word_bits).pack_factor == codes_per_word


@every_layout
@every_width
@every_word
def test_no_two_codes_share_a_bit(layout_of, nbits, word_bits):
    layout = layout_of(nbits, word_bits)
    N, K = 35, 33
    rows, cols = layout.packed_shape(N, K)
    bits = set()
    for n in range(N):
        for k in range(K):
            row, col, shift = layout.locate(n, k)
            assert 0 <= row < rows and 0 <= col < cols and 0 <= shift <= word_bits - nbits
            bits |= {(row, col, shift + bit) for bit in range(nbits)}
    assert len(bits) == N * K * nbits


@every_layout
def test_words_are_no_more_than_the_codes_need(layout_of):
    layout = layout_of(4, word_bits=32)
    lengths = [(1, 1), (8, 1), (9, 2), (16, 2)]
    for codes, words in lengths:
        shape = (3, codes) if layout_of is OverCols else (codes, 3)
        assert 3 * words == torch.Size(layout.packed_shape(*shape)).numel()


@st.composite
def ragged_codes(draw):
    nbits, word_bits = draw(st.sampled_from([8, 4, 2, 1])), draw(st.sampled_from([8, 16, 32]))
    N, K = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    layout_of = draw(st.sampled_from([OverCols, OverRows]))
    return random_codes(N, K, nbits, seed=draw(st.integers(0, 999))), nbits, word_bits, layout_of


@property_test
@given(ragged_codes())
def test_fast_packing_equals_the_map(case):
    W_q, nbits, word_bits, layout_of = case
    packed = PACK[layout_of](W_q, nbits, word_bits)
    assert packed.is_contiguous()
    assert packed.dtype == DTYPES[word_bits]
    assert torch.equal(packed, pack_by_map(W_q, layout_of(nbits, word_bits)))


@property_test
@given(ragged_codes())
def test_fast_unpacking_inverts_packing(case):
    W_q, nbits, word_bits, layout_of = case
    unpacked = unpack(PACK[layout_of](W_q, nbits, word_bits), layout_of, nbits, *W_q.shape)
    assert unpacked.is_contiguous()
    assert unpacked.dtype == torch.uint8
    assert torch.equal(unpacked, W_q)


@every_layout
@every_width
@every_word
def test_unpacking_any_words_equals_the_map(layout_of, nbits, word_bits):
    layout = layout_of(nbits, word_bits)
    N, K = 11, 13
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(-(2**31), 2**31, layout.packed_shape(N, K), generator=generator)
    words = words.to(DTYPES[word_bits])
    expected = unpack_by_map(words, layout, N, K)
    assert torch.equal(unpack(words, layout_of, nbits, N, K), expected)


@every_layout
@every_width
@every_word
def test_bits_past_the_last_code_are_zero(layout_of, nbits, word_bits):
    W_q = torch.full((33, 33), 2**nbits - 1, dtype=torch.uint8)
    words = PACK[layout_of](W_q, nbits, word_bits)
    fields = word_bits // nbits
    N, K = (33, words.shape[1] * fields) if layout_of is OverCols else (len(words) * fields, 33)
    everything = unpack(words, layout_of, nbits, N, K)
    assert torch.equal(everything[:33, :33], W_q)
    assert int(everything.sum()) == int(W_q.sum())


@every_layout
def test_transposed_codes_pack_as_their_copy(layout_of):
    W_q = random_codes(30, 20, nbits=4).T
    before = W_q.clone()
    packed = PACK[layout_of](W_q, 4)
    assert torch.equal(packed, PACK[layout_of](W_q.contiguous(), 4))
    assert torch.equal(W_q, before)


def test_the_layout_of_the_cuda_kernels_is_another():
    W_q = random_codes(2, 256, nbits=4)
    words = pack_over_cols(W_q, 4)
    assert words.shape == pack_warped_int32(W_q, 4).shape
    assert not torch.equal(words, pack_warped_int32(W_q, 4))


FIVES = torch.full((3, 9), 5, dtype=torch.uint8)
WORDS = torch.zeros(3, 2, dtype=torch.int32)

BAD_VALUES = {
    "code over the width": (lambda: pack_over_cols(FIVES, 2), "5"),
    "code over the width of rows": (lambda: pack_over_rows(FIVES, 2), "5"),
    "codes of rank 1": (lambda: pack_over_cols(FIVES[0], 4), r"\(9,\)"),
    "codes of rank 3": (lambda: pack_over_rows(FIVES[None], 4), r"\(1, 3, 9\)"),
    "no columns": (lambda: pack_over_rows(FIVES[:, :0], 4), r"\(3, 0\)"),
    "nbits 3": (lambda: pack_over_cols(FIVES, 3), "8, 4, 2 or 1.*3"),
    "nbits 0": (lambda: OverCols(0), "0"),
    "nbits 9": (lambda: OverRows(9), "9"),
    "word of 64 bits": (lambda: pack_over_cols(FIVES, 4, word_bits=64), "8, 16 or 32, got 64"),
    "words of rank 1": (lambda: unpack_over_cols(WORDS[0], 4, 9), r"\(2,\)"),
    "words of rank 0": (lambda: unpack_over_rows(WORDS[0, 0], 4, 9), r"got \(\)"),
    "K over the words": (lambda: unpack_over_cols(WORDS, 4, 17), r"17.*\(3, 3\).*\(3, 2\)"),
    "K under the words": (lambda: unpack_over_cols(WORDS, 4, 8), r"8.*\(3, 1\).*\(3, 2\)"),
    "N over the words": (lambda: unpack_over_rows(WORDS, 4, 25), r"25.*\(4, 2\).*\(3, 2\)"),
    "K 0": (lambda: unpack_over_cols(WORDS, 4, 0), "K must be at least 1, got 0"),
    "N 0": (lambda: unpack_over_rows(WORDS, 4, 0), "N must be at least 1, got 0"),
    "place before the first": (lambda: OverCols(4).locate(0, -1), r"\(0, -1\)"),
}

BAD_TYPES = {
    "int32 codes": (lambda: pack_over_cols(FIVES.int(), 4), "int32"),
    "list of codes": (lambda: pack_over_rows(FIVES.tolist(), 4), "list"),
    "nbits float": (lambda: pack_over_cols(FIVES, 4.0), "nbits.*float"),
    "nbits True": (lambda: OverRows(True), "nbits.*bool"),
    "int64 words": (lambda: unpack_over_cols(WORDS.long(), 4, 9), "int64"),
    "list of words": (lambda: unpack_over_rows(WORDS.tolist(), 4, 9), "list"),
    "words of another width": (
        lambda: unpack_by_map(WORDS, OverCols(4, word_bits=8), 3, 4),
        "torch.uint8 tensor, got torch.int32",
    ),
    "K float": (lambda: unpack_over_cols(WORDS, 4, 9.0), "K.*float"),
    "N float": (lambda: unpack_over_rows(WORDS, 4, 9.0), "N.*float"),
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
