import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gemlite_edu.packing import Int4Pairs, pack_2xint4, pack_by_map, unpack_2xint4, unpack_by_map

property_test = settings(derandomize=True, deadline=None, max_examples=50)
UNSIGNED, SIGNED = torch.uint8, torch.int8
both_types = pytest.mark.parametrize("dtype", [UNSIGNED, SIGNED], ids=["u4", "s4"])
RANGE = {UNSIGNED: (0, 15), SIGNED: (-8, 7)}
LAYOUT = Int4Pairs()


def random_codes(N, K, dtype=UNSIGNED, seed=0):
    """W_q (N, K)."""
    low, high = RANGE[dtype]
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, (N, K), generator=generator).to(dtype)


def bits(packed):
    """The bytes as uint8 numbers, whatever their type."""
    return packed.contiguous().view(torch.uint8)


@pytest.mark.parametrize(
    "even, odd, byte",
    [(5, 12, 0xC5), (0, 0, 0x00), (15, 0, 0x0F), (0, 15, 0xF0), (1, 8, 0x81), (15, 15, 0xFF)],
)
def test_the_code_of_even_k_is_in_the_low_four_bits(even, odd, byte):
    packed = pack_2xint4(torch.tensor([[even], [odd]], dtype=UNSIGNED))
    assert packed.dtype == UNSIGNED and packed.tolist() == [[byte]]


@pytest.mark.parametrize(
    "even, odd, byte",
    [(5, -4, 0xC5), (-8, 7, 0x78), (7, -8, 0x87), (-1, 0, 0x0F), (0, -1, 0xF0), (-1, -8, 0x8F)],
)
def test_signed_codes_are_in_twos_complement(even, odd, byte):
    packed = pack_2xint4(torch.tensor([[even], [odd]], dtype=SIGNED))
    assert packed.dtype == SIGNED and bits(packed).tolist() == [[byte]]
    assert unpack_2xint4(packed).tolist() == [[even], [odd]]


def test_a_matrix_is_what_one_writes_by_hand():
    W_q = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], dtype=UNSIGNED)
    packed = pack_2xint4(W_q.T)
    assert [[f"{byte:02x}" for byte in row] for row in packed.tolist()] == [
        ["21", "65", "a9"],
        ["43", "87", "cb"],
    ]


@both_types
def test_every_byte_stands_for_two_codes_and_back(dtype):
    every = torch.arange(256, dtype=torch.uint8).view(dtype).reshape(4, 64)
    codes = unpack_2xint4(every)
    low, high = RANGE[dtype]
    assert set(codes.flatten().tolist()) == set(range(low, high + 1))
    assert torch.equal(pack_2xint4(codes), every)


@st.composite
def any_codes(draw):
    N, half = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    dtype = draw(st.sampled_from([UNSIGNED, SIGNED]))
    return random_codes(N, 2 * half, dtype, seed=draw(st.integers(0, 999)))


@property_test
@given(any_codes())
def test_fast_packing_equals_the_map(W_q):
    as_the_map_sees_them = (W_q & 15).to(UNSIGNED)
    packed = pack_2xint4(W_q.T)
    assert packed.shape == LAYOUT.packed_shape(*W_q.shape)
    assert packed.dtype == W_q.dtype
    assert torch.equal(bits(packed), pack_by_map(as_the_map_sees_them, LAYOUT))
    assert torch.equal(unpack_by_map(bits(packed), LAYOUT, *W_q.shape), as_the_map_sees_them)


@property_test
@given(any_codes())
def test_unpacking_inverts_packing(W_q):
    codes = unpack_2xint4(pack_2xint4(W_q.T))
    assert codes.dtype == W_q.dtype and codes.shape == W_q.T.shape
    assert torch.equal(codes, W_q.T)


def test_no_two_codes_share_a_bit():
    N, K = 5, 8
    rows, cols = LAYOUT.packed_shape(N, K)
    taken = set()
    for n in range(N):
        for k in range(K):
            row, col, shift = LAYOUT.locate(n, k)
            assert 0 <= row < rows and 0 <= col < cols and shift in (0, 4)
            taken |= {(row, col, shift + bit) for bit in range(4)}
    assert len(taken) == 4 * N * K == 8 * rows * cols


@both_types
def test_the_bytes_of_an_output_lie_side_by_side_however_the_codes_lay(dtype):
    W_q = random_codes(6, 10, dtype)
    wide = random_codes(12, 20, dtype, seed=1)
    wide[::2, ::2] = W_q
    packed = [pack_2xint4(codes) for codes in (W_q.T, W_q.T.contiguous(), wide[::2, ::2].T)]
    for one in packed:
        assert one.T.is_contiguous()
        assert torch.equal(one, packed[0])


@both_types
def test_bytes_in_any_order_unpack_alike(dtype):
    packed = pack_2xint4(random_codes(6, 10, dtype).T)
    wide = torch.zeros(10, 12, dtype=dtype)
    wide[::2, ::2] = packed
    for other in (packed.contiguous(), wide[::2, ::2]):
        assert torch.equal(unpack_2xint4(other), unpack_2xint4(packed))


@both_types
def test_operands_stay_as_they_are_and_share_nothing(dtype):
    codes = random_codes(3, 4, dtype).T.contiguous()
    before = codes.clone()
    packed = pack_2xint4(codes)
    kept = packed.clone()
    back = unpack_2xint4(packed)
    assert torch.equal(codes, before) and torch.equal(packed, kept)
    codes.zero_()
    assert torch.equal(packed, kept)
    packed.zero_()
    assert torch.equal(back, before)


FIVES = torch.full((4, 3), 5, dtype=UNSIGNED)

BAD_VALUES = {
    "code 16": (lambda: pack_2xint4(FIVES + 11), "0 to 15, got 16 to 16"),
    "code 255": (lambda: pack_2xint4(FIVES + 250), "0 to 15, got 255 to 255"),
    "signed code 8": (lambda: pack_2xint4(FIVES.to(SIGNED) + 3), "-8 to 7, got 8 to 8"),
    "signed code -9": (lambda: pack_2xint4(FIVES.to(SIGNED) - 14), "-8 to 7, got -9 to -9"),
    "odd K": (lambda: pack_2xint4(FIVES[:3]), r"even K, got \(3, 3\)"),
    "codes of rank 1": (lambda: pack_2xint4(FIVES[:, 0]), r"matrix.*\(4,\)"),
    "codes of rank 3": (lambda: pack_2xint4(FIVES[None]), r"matrix.*\(1, 4, 3\)"),
    "no rows": (lambda: pack_2xint4(FIVES[:0]), r"not empty, got \(0, 3\)"),
    "no columns": (lambda: pack_2xint4(FIVES[:, :0]), r"not empty, got \(4, 0\)"),
    "bytes of rank 1": (lambda: unpack_2xint4(FIVES[0]), r"matrix.*\(3,\)"),
    "no bytes": (lambda: unpack_2xint4(FIVES[:0]), r"not empty, got \(0, 3\)"),
    "odd K of the map": (lambda: LAYOUT.packed_shape(3, 5), "even.*got 5"),
    "place before the first": (lambda: LAYOUT.locate(-1, 0), r"\(-1, 0\)"),
    "k before the first": (lambda: LAYOUT.locate(0, -2), r"\(0, -2\)"),
}

BAD_TYPES = {
    "int32 codes": (lambda: pack_2xint4(FIVES.int()), "codes.*got torch.int32"),
    "float codes": (lambda: pack_2xint4(FIVES.half()), "codes.*got torch.float16"),
    "a list of codes": (lambda: pack_2xint4(FIVES.tolist()), "codes.*got list"),
    "no codes": (lambda: pack_2xint4(None), "codes.*got NoneType"),
    "sparse codes": (lambda: pack_2xint4(FIVES.to_sparse()), "codes.*dense.*got torch.sparse_coo"),
    "codes on meta": (lambda: pack_2xint4(FIVES.to("meta")), "codes .*numbers in it, got on meta"),
    "sparse bytes": (lambda: unpack_2xint4(FIVES.to_sparse()), "packed.*got torch.sparse_coo"),
    "int32 bytes": (lambda: unpack_2xint4(FIVES.int()), "packed.*got torch.int32"),
    "a list of bytes": (lambda: unpack_2xint4(FIVES.tolist()), "packed.*got list"),
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
