"""BitNet's 2-bit layout against its map, and against a slow routine of its description."""

import pytest
import torch

from gemlite_edu.packing import (
    Bitnet2Bit,
    pack_bitnet_2bit,
    pack_by_map,
    unpack_bitnet_2bit,
    unpack_by_map,
)

SHAPES = [(16, 32), (32, 64), (48, 32), (16, 160), (1, 1), (17, 33), (15, 31), (40, 100)]
every_shape = pytest.mark.parametrize("N, K", SHAPES)


def random_codes(N, K, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 4, (N, K), dtype=torch.uint8, generator=generator)


def bytes_as_described(W_q):
    """What BitNet's packing script stores, (N, K / 4) bytes: one code after the other."""
    N, K = W_q.shape
    stored = []
    for n_tile in range(0, N, 16):
        for k_tile in range(0, K, 32):
            for word in range(32):
                row = n_tile + 8 * (word // 16) + word % 8
                first = k_tile + 16 * (word % 16 // 8)
                bits = 0
                for element in range(16):
                    place = 8 * (element % 4) + 2 * (element // 4)
                    bits += int(W_q[row, first + element]) * 2**place
                stored += [bits // 256**byte % 256 for byte in range(4)]
    return torch.tensor(stored, dtype=torch.uint8).reshape(N, K // 4)


@pytest.mark.parametrize("N, K", [(16, 32), (32, 64), (48, 96), (16, 256)])
def test_its_bytes_are_those_that_bitnet_stores(N, K):
    W_q = random_codes(N, K)
    assert torch.equal(pack_bitnet_2bit(W_q).view(torch.uint8), bytes_as_described(W_q))


@every_shape
def test_it_is_the_map(N, K):
    W_q = random_codes(N, K)
    words = pack_bitnet_2bit(W_q)
    assert torch.equal(words, pack_by_map(W_q, Bitnet2Bit(K)))
    assert torch.equal(unpack_by_map(words, Bitnet2Bit(K), N, K), W_q)


@every_shape
def test_unpacking_is_the_inverse(N, K):
    W_q = random_codes(N, K, seed=1)
    assert torch.equal(unpack_bitnet_2bit(pack_bitnet_2bit(W_q), N, K), W_q)


def test_a_shift_and_a_mask_give_four_neighbours_a_byte_each():
    W_q = random_codes(16, 32)
    word = int(pack_bitnet_2bit(W_q)[0, 0]) & 0xFFFFFFFF
    for i in range(4):
        four = word >> 2 * i & 0x03030303
        assert list(four.to_bytes(4, "little")) == W_q[0, 4 * i : 4 * i + 4].tolist()


def test_a_tile_is_128_bytes_of_its_own():
    """A tile that changes leaves the words of all others alone."""
    W_q = random_codes(48, 96)
    changed = W_q.clone()
    changed[16:32, 32:64] ^= 3
    differ = (pack_bitnet_2bit(W_q) != pack_bitnet_2bit(changed)).flatten().nonzero().flatten()
    assert differ.tolist() == list(range(4 * 32, 5 * 32))


@pytest.mark.parametrize(
    "call, error, named",
    [
        (lambda: pack_bitnet_2bit(random_codes(16, 32) + 1), ValueError, "2 bits end at 3"),
        (lambda: pack_bitnet_2bit(random_codes(16, 32).int()), TypeError, "torch.uint8"),
        (lambda: pack_bitnet_2bit(random_codes(16, 32)[0]), ValueError, r"\(N, K\)"),
        (lambda: Bitnet2Bit(32).locate(0, 32), ValueError, r"ends before 32, got \(0, 32\)"),
        (lambda: Bitnet2Bit(32).locate(-1, 0), ValueError, "starts at 0"),
        (lambda: Bitnet2Bit(32).packed_shape(16, 64), ValueError, "rows of 32 codes, got K = 64"),
        (
            lambda: unpack_bitnet_2bit(torch.zeros(16, 2, dtype=torch.int32), 16, 64),
            ValueError,
            r"take words \(16, 4\), got \(16, 2\)",
        ),
    ],
)
def test_bad_input_is_named_in_one_sentence(call, error, named):
    with pytest.raises(error, match=named) as caught:
        call()
    assert "\n" not in str(caught.value)
