"""3-bit codes in two planes: the packer equals the map, every bit is used, and the way back."""

import pytest
import torch

from gemlite_edu.packing import (
    BitPlanes3,
    WarpInterleaved,
    pack_3bit_planes,
    pack_by_map,
    unpack_3bit_planes,
    unpack_by_map,
)

SHAPES = [(1, 1), (2, 33), (3, 1000), (1, 1024), (2, 1025), (5, 2050)]


def codes_of(N, K):
    generator = torch.Generator().manual_seed(N + K)
    return torch.randint(0, 8, (N, K), dtype=torch.uint8, generator=generator)


@pytest.mark.parametrize("N, K", SHAPES)
def test_the_packer_is_the_map(N, K):
    W_q = codes_of(N, K)
    W_packed = pack_3bit_planes(W_q)
    assert torch.equal(W_packed, pack_by_map(W_q, BitPlanes3()))
    assert torch.equal(unpack_by_map(W_packed, BitPlanes3(), N, K), W_q)


@pytest.mark.parametrize("N, K", SHAPES)
def test_there_and_back(N, K):
    W_q = codes_of(N, K)
    codes = unpack_3bit_planes(pack_3bit_planes(W_q), K)
    assert torch.equal(codes, W_q) and codes.dtype == torch.uint8 and codes.is_contiguous()


def test_a_lane_reads_three_words_for_32_codes():
    """Words lane, lane + 32 and lane + 64 of a tile hold k = lane, lane + 32, ... of it."""
    found = {}
    for k in range(2048):
        for address in BitPlanes3().locate(0, k):
            found.setdefault(address.col, set()).add(k)
    for col, ks in found.items():
        tile, inside = divmod(col, 96)
        assert all(k // 1024 == tile and k % 32 == inside % 32 for k in ks)
        assert len(ks) == (32 if inside >= 64 else 16)
    assert sorted(found) == list(range(192))


def test_no_bit_is_idle_and_none_is_used_twice():
    bits = set()
    for k in range(1024):
        for address, width in zip(BitPlanes3().locate(0, k), BitPlanes3.planes, strict=True):
            bits |= {(address.col, address.shift + i) for i in range(width)}
    assert len(bits) == 3 * 1024 == 32 * BitPlanes3().packed_shape(1, 1024)[1]


def test_it_takes_fewer_words_than_ten_codes_a_word():
    K = 16 * 1024 * 5
    ten_a_word = WarpInterleaved(3).packed_shape(1, K)[1]
    assert BitPlanes3().packed_shape(1, K)[1] * 32 == 3 * K
    assert ten_a_word * 30 == 3 * K


@pytest.mark.parametrize("value", [0, 7])
def test_the_ends_of_the_range(value):
    W_q = torch.full((2, 1024), value, dtype=torch.uint8)
    assert pack_3bit_planes(W_q).unique().tolist() == [-1 if value else 0]


def test_bad_input_gets_one_sentence():
    with pytest.raises(ValueError, match="3 bits end at 7"):
        pack_3bit_planes(torch.full((1, 4), 8, dtype=torch.uint8))
    with pytest.raises(TypeError, match="W_q must be a torch.uint8 tensor"):
        pack_3bit_planes(torch.zeros(1, 4))
    with pytest.raises(ValueError, match=r"take words \(1, 96\), got \(1, 32\)"):
        unpack_3bit_planes(torch.zeros(1, 32, dtype=torch.int32), 1000)
