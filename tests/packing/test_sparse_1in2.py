"""1:2 sparse words: the seed's functions bit for bit, what they leave open, and the way back."""

import pytest
import torch

from gemlite_edu.packing import (
    Sparse1in2,
    pack_sparse_1in2,
    pack_warped_int32_8bit_50_sparse,
    tiled_sparsity_50,
    unpack_sparse_1in2,
)

SHAPES = [(1, 256), (3, 1024), (5, 300), (2, 33), (4, 64), (1, 7), (7, 513), (1, 1)]


def codes_of(N, K, seed=0):
    return torch.randint(0, 128, (N, K), generator=torch.Generator().manual_seed(seed)).byte()


def weights_of(N, K, seed=0):
    return torch.randn(N, K, generator=torch.Generator().manual_seed(seed))


def byte_of(W_packed, n, k):
    """The byte for the pair of weight (n, k), found one step at a time from the description."""
    tile, inside = divmod(k, 256)
    pair, place = divmod(inside, 64)
    word = int(W_packed[n, tile * 32 + place % 32]) & 0xFFFFFFFF
    return word >> (24 - 8 * pair) & 0xFF


@pytest.mark.parametrize("N, K", SHAPES)
def test_of_every_pair_the_larger_is_kept(N, K):
    W = weights_of(N, K)
    kept = tiled_sparsity_50(W)
    assert kept.shape == W.shape and kept.dtype == W.dtype
    for n in range(N):
        for k in range(K):
            partner = k + 32 if k % 64 < 32 else k - 32
            other = abs(W[n, partner]) if partner < K else 0
            assert kept[n, k] == (abs(W[n, k]) > other)


@pytest.mark.parametrize("value", [0.0, 2.0, -2.0])
def test_of_equal_magnitudes_the_second_is_kept(value):
    W = torch.full((1, 64), value)
    W[0, 32:] = -value
    assert tiled_sparsity_50(W).tolist() == [[0.0] * 32 + [1.0] * 32]


def test_the_magnitude_of_minus_128_is_128():
    W = torch.zeros(1, 64, dtype=torch.int8)
    W[0, 3], W[0, 35] = -128, 127
    assert tiled_sparsity_50(W)[0, 3] == 1


def test_other_distances_as_in_the_seed():
    assert tiled_sparsity_50(torch.tensor([[3, 1, -2, 1, 0, 0, 5, 9]]), tile_size=2).tolist() == [
        [1, 0, 0, 1, 0, 0, 1, 1]
    ]


@pytest.mark.parametrize("N, K", SHAPES)
def test_each_byte_holds_its_pair(N, K):
    W_q, kept = codes_of(N, K), tiled_sparsity_50(weights_of(N, K))
    W_packed = pack_sparse_1in2(W_q, kept)
    assert W_packed.dtype == torch.int32
    assert tuple(W_packed.shape) == Sparse1in2().packed_shape(N, K)
    for n in range(N):
        for k in range(K):
            if kept[n, k]:
                assert byte_of(W_packed, n, k) == int(W_q[n, k]) | (0x80 if k % 64 < 32 else 0)


@pytest.mark.parametrize("N, K", SHAPES)
def test_there_and_back(N, K):
    W_q, kept = codes_of(N, K), tiled_sparsity_50(weights_of(N, K)).bool()
    codes, mask = unpack_sparse_1in2(pack_sparse_1in2(W_q, kept), K)
    assert torch.equal(mask, kept)
    assert torch.equal(codes, torch.where(kept, W_q, 0))
    assert codes.dtype == torch.uint8


def test_what_is_pruned_does_not_show_in_the_words():
    kept = tiled_sparsity_50(weights_of(2, 512))
    one, other = codes_of(2, 512, 1), codes_of(2, 512, 2)
    other = torch.where(kept.bool(), one, other)
    assert torch.equal(pack_sparse_1in2(one, kept), pack_sparse_1in2(other, kept))


def seed_words(W_q):
    """The words of an (N, K) matrix with K % 256 == 0, by the seed's description, with numpy."""
    codes = W_q.numpy().astype("int64").reshape(-1, 2, 32)
    first, second = codes[:, 0], codes[:, 1]
    one_byte = (first | second) + 128 * (first > second)
    words = one_byte.reshape(-1, 4, 32)
    total = sum(words[:, j] << (24 - 8 * j) for j in range(4))
    return torch.from_numpy(total.astype("uint32").view("int32").reshape(len(W_q), -1))


@pytest.mark.parametrize("N, K", [(1, 256), (3, 512), (8, 4096)])
def test_on_pruned_codes_the_words_are_the_seeds(N, K):
    W_q = torch.where(tiled_sparsity_50(weights_of(N, K)).bool(), codes_of(N, K), 0).byte()
    assert torch.equal(pack_warped_int32_8bit_50_sparse(W_q, 32), seed_words(W_q))


def test_the_seeds_packer_takes_any_K_row_by_row():
    W_q = torch.where(tiled_sparsity_50(weights_of(3, 300)).bool(), codes_of(3, 300), 0).byte()
    codes, _ = unpack_sparse_1in2(pack_warped_int32_8bit_50_sparse(W_q), 300)
    assert torch.equal(codes, W_q)


def test_two_nonzero_codes_in_a_pair_are_refused():
    W_q = torch.zeros(2, 128, dtype=torch.uint8)
    W_q[1, 70], W_q[1, 102] = 3, 4
    with pytest.raises(ValueError, match=r"W_q\[1, 70\] and W_q\[1, 102\] are both nonzero"):
        pack_warped_int32_8bit_50_sparse(W_q)


@pytest.mark.parametrize("places", [[], [5, 37]], ids=["none", "both"])
def test_a_pair_of_which_not_just_one_is_kept_is_refused(places):
    kept = torch.ones(1, 64) * (torch.arange(64) >= 32)
    kept[0, 37] = 0
    kept[0, places] = 1
    with pytest.raises(ValueError, match=r"of W\[0, 5\] and W\[0, 37\] exactly one must be kept"):
        pack_sparse_1in2(codes_of(1, 64), kept)


@pytest.mark.parametrize(
    "call, error, sentence",
    [
        (lambda: tiled_sparsity_50(torch.zeros(3)), ValueError, "W must be a tensor"),
        (lambda: tiled_sparsity_50(None), ValueError, "W must be a tensor"),
        (
            lambda: tiled_sparsity_50(torch.tensor([[torch.nan]])),
            ValueError,
            "NaN, infinite or complex",
        ),
        (lambda: pack_sparse_1in2(codes_of(1, 64), None), ValueError, "kept must be a tensor"),
        (
            lambda: pack_sparse_1in2(codes_of(1, 64), torch.ones(1, 32)),
            ValueError,
            "kept must be a tensor of W_q's shape",
        ),
        (
            lambda: pack_sparse_1in2(codes_of(1, 64), torch.ones(1, 64, device="meta")),
            ValueError,
            "on cpu, got .* on meta",
        ),
        (
            lambda: pack_sparse_1in2(codes_of(1, 64) | 128, torch.ones(1, 64)),
            ValueError,
            "7 bits end at 127",
        ),
        (
            lambda: pack_warped_int32_8bit_50_sparse(codes_of(1, 64), 16),
            ValueError,
            "got tile_size = 16",
        ),
        (
            lambda: pack_warped_int32_8bit_50_sparse(torch.full((1, 64), -1)),
            ValueError,
            "codes are 0 to 127, got -1 to -1",
        ),
        (
            lambda: pack_warped_int32_8bit_50_sparse(torch.zeros(1, 64)),
            TypeError,
            "W_q must be an integer tensor",
        ),
        (
            lambda: pack_warped_int32_8bit_50_sparse(torch.zeros(1, 64, dtype=torch.bool)),
            TypeError,
            "W_q must be an integer tensor",
        ),
        (
            lambda: pack_warped_int32_8bit_50_sparse(torch.zeros(0, 64, dtype=torch.uint8)),
            ValueError,
            r"W_q must have shape \(N, K\) with N, K >= 1, got \(0, 64\)",
        ),
        (
            lambda: tiled_sparsity_50(torch.ones(1, 4), tile_size=0),
            ValueError,
            "tile_size must be an int of 1 or more, got 0",
        ),
        (
            lambda: tiled_sparsity_50(torch.ones(1, 4, dtype=torch.complex64)),
            ValueError,
            "NaN, infinite or complex entries",
        ),
        (
            lambda: unpack_sparse_1in2(torch.zeros(1, 31, dtype=torch.int32), 64),
            ValueError,
            "7-bit codes",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
