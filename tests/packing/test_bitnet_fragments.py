"""BitMedViT's orders of words, against a slow routine that follows its reshuffles word by word."""

import pytest
import torch

from gemlite_edu.packing import (
    FRAGMENTS,
    BitnetFragments,
    from_fragments,
    pack_bitnet_2bit,
    pack_by_map,
    to_fragments,
    unpack_by_map,
)

SIZES = [(32, 32), (64, 96), (16, 64), (48, 32), (1, 5), (33, 40)]
BITS = [8 * (e % 4) + 2 * (e // 4) for e in range(16)]  # of the 16 codes of a word


def random_codes(N, K):
    generator = torch.Generator().manual_seed(N * K)
    return torch.randint(0, 4, (N, K), generator=generator, dtype=torch.uint8)


def slow_words(codes, fragment):
    """The documented order, as lists: runs of rows from 0, 16, 8, 24, or one; 16 k at a time."""
    outputs = FRAGMENTS[fragment][1]
    runs = {32: [0, 16, 8, 24], 8: [0]}[outputs]
    whole = max(outputs, 16)
    N, K = -(-codes.shape[0] // whole) * whole, -(-codes.shape[1] // 32) * 32
    padded = torch.zeros(N, K, dtype=torch.int64)
    padded[: codes.shape[0], : codes.shape[1]] = codes
    words = []
    for band in range(0, N, outputs):
        for k in range(0, K, 16):
            for run in runs:
                for row in range(8):
                    sixteen = padded[band + run + row, k : k + 16].tolist()
                    words.append(sum(code << bit for code, bit in zip(sixteen, BITS, strict=True)))
    return torch.tensor(words).to(torch.int32).reshape(N, K // 16)


@pytest.mark.parametrize("fragment", ["8x32x16", "32x8x16"])
@pytest.mark.parametrize("N, K", SIZES)
def test_it_is_the_documented_order(fragment, N, K):
    codes = random_codes(N, K)
    assert torch.equal(
        to_fragments(pack_bitnet_2bit(codes), fragment, K), slow_words(codes, fragment)
    )


@pytest.mark.parametrize("fragment", FRAGMENTS)
@pytest.mark.parametrize("N, K", SIZES)
def test_map_and_reshuffle_agree(fragment, N, K):
    codes, layout = random_codes(N, K), BitnetFragments(fragment, K)
    words = to_fragments(pack_bitnet_2bit(codes), fragment, K)
    assert torch.equal(pack_by_map(codes, layout), words)
    assert torch.equal(unpack_by_map(words, layout, N, K), codes)
    assert words.is_contiguous()


@pytest.mark.parametrize("fragment", FRAGMENTS)
@pytest.mark.parametrize("N, K", SIZES)
def test_there_and_back(fragment, N, K):
    words = pack_bitnet_2bit(random_codes(N, K))
    back = from_fragments(to_fragments(words, fragment, K), fragment, N, K)
    assert torch.equal(back, words) and back.is_contiguous()


def test_sixteen_outputs_are_bitnets_own_order():
    words = pack_bitnet_2bit(random_codes(32, 64))
    same = to_fragments(words, "16x16x16", 64)
    assert torch.equal(same, words) and same.data_ptr() != words.data_ptr()


def test_wrong_operands_get_a_sentence():
    words = pack_bitnet_2bit(random_codes(16, 32))
    with pytest.raises(ValueError, match="one of 8x32x16, 16x16x16, 32x8x16, got '16x8x32'"):
        to_fragments(words, "16x8x32", 32)
    with pytest.raises(TypeError, match="int32 tensor, got torch.int8"):
        from_fragments(words.view(torch.int8), "32x8x16", 16, 32)
    with pytest.raises(ValueError, match=r"take words \(32, 2\), got \(16, 2\)"):
        from_fragments(words, "8x32x16", 16, 32)
