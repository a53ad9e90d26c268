"""`pack_by_map` and `unpack_by_map` follow a map and nothing else: the maps here are made up."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gemlite_edu.packing import Address, WarpInterleaved, pack_by_map, unpack_by_map

property_test = settings(derandomize=True, deadline=None, max_examples=50)


@dataclass(frozen=True)
class NeighboursInAWord:
    """Codes of one row side by side, first one lowest; words stand in columns if `transposed`."""

    nbits: int
    transposed: bool = False
    word_bits: int = 32

    @property
    def pack_factor(self):
        return self.word_bits // self.nbits

    def packed_shape(self, N, K):
        words = -(-K // self.pack_factor)
        return (words, N) if self.transposed else (N, words)

    def locate(self, n, k):
        word, j = divmod(k, self.pack_factor)
        row, col = (word, n) if self.transposed else (n, word)
        return Address(row, col, self.nbits * j)


def codes(*rows):
    return torch.tensor(rows, dtype=torch.uint8)


def signed(word):
    return word - 2**32 if word >= 2**31 else word


def test_address_is_row_column_shift():
    assert tuple(Address(row=1, col=2, shift=3)) == (1, 2, 3)


def test_codes_land_where_the_map_says():
    packed = pack_by_map(codes([1, 2, 3], [15, 0, 7]), NeighboursInAWord(4))
    assert packed.tolist() == [[0x321], [0x70F]]
    assert packed.dtype == torch.int32


def test_rows_and_columns_of_words_are_not_swapped():
    W_q = codes([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])
    packed = pack_by_map(W_q, NeighboursInAWord(8, transposed=True))
    assert packed.tolist() == [[0x04030201, 0x09080706], [0x05, 0x0A]]


def test_code_in_the_sign_bit_survives():
    layout = NeighboursInAWord(8)
    W_q = codes([0, 0, 0, 255])
    packed = pack_by_map(W_q, layout)
    assert packed.tolist() == [[signed(0xFF000000)]]
    assert torch.equal(unpack_by_map(packed, layout, 1, 4), W_q)


def test_bits_without_a_code_stay_zero():
    packed = pack_by_map(codes([7] * 10), NeighboursInAWord(3))
    assert packed.tolist() == [[2**30 - 1]]


def test_bits_without_a_code_are_ignored_when_unpacking():
    packed = torch.full((1, 1), -1, dtype=torch.int32)
    unpacked = unpack_by_map(packed, NeighboursInAWord(3), 1, 4)
    assert torch.equal(unpacked, codes([7] * 4))


@property_test
@given(st.integers(1, 8), st.booleans(), st.integers(1, 5), st.integers(1, 50), st.integers(0, 99))
def test_unpack_inverts_pack(nbits, transposed, N, K, seed):
    generator = torch.Generator().manual_seed(seed)
    W_q = torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8, generator=generator)
    layout = NeighboursInAWord(nbits, transposed)
    packed = pack_by_map(W_q, layout)
    assert packed.shape == layout.packed_shape(N, K)
    unpacked = unpack_by_map(packed, layout, N, K)
    assert unpacked.dtype == torch.uint8
    assert torch.equal(unpacked, W_q)


LAYOUT = WarpInterleaved(4)
FIVES = torch.full((3, 70), 5, dtype=torch.uint8)
WORDS = torch.zeros(3, 32, dtype=torch.int32)


@pytest.mark.parametrize(
    "call, error, named",
    [
        (lambda: pack_by_map(FIVES, WarpInterleaved(2)), ValueError, "5"),
        (lambda: pack_by_map(FIVES[0], LAYOUT), ValueError, r"\(70,\)"),
        (lambda: pack_by_map(FIVES.int(), LAYOUT), TypeError, "int32"),
        (lambda: pack_by_map(FIVES.tolist(), LAYOUT), TypeError, "list"),
        (lambda: unpack_by_map(WORDS, LAYOUT, 3, 300), ValueError, r"\(3, 32\)"),
        (lambda: unpack_by_map(WORDS, LAYOUT, 4, 70), ValueError, r"\(3, 32\)"),
        (lambda: unpack_by_map(WORDS, LAYOUT, 2, 70), ValueError, r"\(3, 32\)"),
        (lambda: unpack_by_map(WORDS[0], LAYOUT, 3, 70), ValueError, r"\(32,\)"),
        (lambda: unpack_by_map(WORDS.long(), LAYOUT, 3, 70), TypeError, "int64"),
        (lambda: unpack_by_map(WORDS.tolist(), LAYOUT, 3, 70), TypeError, "list"),
    ],
    ids=[
        "code over the width",
        "rank 1",
        "int32 codes",
        "list of codes",
        "K over the words",
        "N over the rows",
        "N under the rows",
        "words of rank 1",
        "int64 words",
        "list of words",
    ],
)
def test_bad_input_is_named_in_one_sentence(call, error, named):
    with pytest.raises(error, match=named) as caught:
        call()
    assert "\n" not in str(caught.value)
