"""The checkpoints here are written bit by bit, from what the formats say."""

import pytest
import torch
from checkpoint_writers import awq, gptq, int32, layer

from gemlite_edu.layers.importers import from_awq, from_gptq
from gemlite_edu.numbers.quantize import QuantizedWeight, quantize_linear
from gemlite_edu.packing import pack_over_cols

gptq_width = pytest.mark.parametrize("nbits", [2, 3, 4, 8])


def assert_is(q, codes, zeros, scales, nbits):
    assert isinstance(q, QuantizedWeight)
    assert (q.nbits, q.group_size) == (nbits, codes.shape[1] // zeros.shape[1])
    assert torch.equal(q.W_q, codes.byte())
    assert torch.equal(q.zeros, zeros.float())
    assert torch.equal(q.scales, scales.float())
    assert all(tensor.is_contiguous() for tensor in (q.W_q, q.zeros, q.scales))


@gptq_width
@pytest.mark.parametrize("group_size", [32, 96, 192])
def test_gptq_of_the_first_format(nbits, group_size):
    parts = layer(nbits, group_size=group_size, smallest_zero=1)
    assert_is(from_gptq(*gptq(*parts, nbits), nbits=nbits), *parts, nbits)


@gptq_width
def test_gptq_of_the_second_format(nbits):
    parts = layer(nbits)
    tensors = gptq(*parts, nbits, minus_one=False)
    assert_is(from_gptq(*tensors, nbits=nbits, zeros_stored_minus_one=False), *parts, nbits)


@gptq_width
def test_gptq_zeros_take_their_first_and_last_value(nbits):
    codes, zeros, scales = layer(nbits)
    zeros[:, 0], zeros[:, 1] = 1, 2**nbits - 1
    q = from_gptq(*gptq(codes, zeros.clamp(min=1), scales, nbits), nbits=nbits)
    assert (q.zeros[:, 0] == 1).all() and (q.zeros[:, 1] == 2**nbits - 1).all()


def test_gptq_4_bit_words_are_what_one_writes_by_hand():
    qweight = torch.tensor([[0x76543210] * 8, [int32(0xFEDCBA98)] * 8]).int()
    qzeros = torch.tensor([[0x76543210]]).int()
    q = from_gptq(qweight, qzeros, torch.ones(1, 8))
    assert q.W_q.tolist() == [list(range(16))] * 8
    assert q.zeros.flatten().tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_gptq_3_bit_codes_10_and_21_lie_across_two_words():
    qweight = torch.zeros(3, 32, dtype=torch.int32)
    qweight[:, 5] = torch.tensor([1 << 30, int32(1 << 31 | 1), 1], dtype=torch.int32)
    q = from_gptq(qweight, torch.zeros(1, 3, dtype=torch.int32), torch.ones(1, 32), nbits=3)
    expected = [0] * 32
    expected[10], expected[21] = 0b101, 0b011
    assert q.W_q[5].tolist() == expected
    assert q.W_q.count_nonzero() == 2


@pytest.mark.parametrize("nbits", [2, 4, 8])
def test_gptq_words_are_those_of_gemlite_over_columns(nbits):
    codes, zeros, scales = layer(nbits, smallest_zero=1)
    qweight, qzeros, _ = gptq(codes, zeros, scales, nbits)
    assert torch.equal(qweight, pack_over_cols(codes.byte(), nbits).T)
    assert torch.equal(qzeros, pack_over_cols((zeros - 1).byte().T, nbits))


def test_a_symmetric_layer_is_the_same_in_both_formats():
    codes, zeros, scales = layer(4)
    zeros[:] = 8
    first = from_gptq(*gptq(codes, zeros, scales, 4))
    tensors = gptq(codes, zeros, scales, 4, minus_one=False)
    second = from_gptq(*tensors, zeros_stored_minus_one=False)
    assert torch.equal(first.dequantize(), second.dequantize())


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_gptq_takes_a_g_idx_of_neighbours(dtype):
    parts = layer(4, smallest_zero=1)
    g_idx = torch.arange(192, dtype=dtype) // 64
    assert_is(from_gptq(*gptq(*parts, 4), g_idx), *parts, 4)


@pytest.mark.parametrize("group_size", [32, 96, 192])
def test_awq(group_size):
    parts = layer(4, group_size=group_size)
    assert_is(from_awq(*awq(*parts)), *parts, 4)


def test_awq_words_are_what_one_writes_by_hand():
    word = torch.tensor([[0x75316420]]).int()
    q = from_awq(word, word, torch.ones(1, 8))
    assert q.W_q.flatten().tolist() == list(range(8))
    assert q.zeros.flatten().tolist() == list(range(8))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_scales_of_any_float_dtype_keep_their_values(dtype):
    codes, zeros, scales = layer(4, smallest_zero=1)
    scales = scales.to(dtype)
    assert torch.equal(from_gptq(*gptq(codes, zeros, scales, 4)).scales, scales.float())
    assert torch.equal(from_awq(*awq(codes, zeros, scales)).scales, scales.float())


def test_a_layer_comes_back_from_either_checkpoint():
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(32, 128, generator=generator)
    q = quantize_linear(W, nbits=4, group_size=32)
    parts = q.W_q.int(), q.zeros.int(), q.scales
    tensors = gptq(*parts, 4, minus_one=False)
    for read in (from_gptq(*tensors, zeros_stored_minus_one=False), from_awq(*awq(*parts))):
        assert torch.equal(read.dequantize(), q.dequantize())


def test_the_tensors_of_a_checkpoint_stay_as_they_are():
    codes, zeros, scales = layer(4, smallest_zero=1)
    scales = torch.nn.Parameter(scales.float())
    tensors = gptq(codes, zeros, scales, 4)
    before = [tensor.detach().clone() for tensor in tensors]
    q = from_gptq(*tensors)
    q.W_q.zero_(), q.zeros.zero_(), q.scales.zero_()
    assert not q.scales.requires_grad
    assert all(torch.equal(*pair) for pair in zip(tensors, before, strict=True))


def with_a_zero_of_zero():
    codes, zeros, scales = layer(4, smallest_zero=1)
    zeros[3, 1] = 0
    return gptq(codes, zeros, scales, 4, minus_one=False)


def subtracted_from_the_word(qzeros):
    """GPTQModel: one subtraction for the eight zeros of a word, so a zero of 0 borrows."""
    return qzeros - 0x11111111


def subtracted_from_each_zero(qzeros):
    """AutoGPTQ: -1 as an unsigned number, shifted and put on top of the others."""
    words = []
    for row in qzeros.tolist():
        fields = [[(word >> 4 * i & 15) - 1 for i in range(8)] for word in row]
        words.append([sum_of(word) for word in fields])
    return torch.tensor(words).int()


def sum_of(fields):
    word = 0
    for place, field in enumerate(fields):
        word |= field % 2**32 << 4 * place
    return int32(word % 2**32)


@pytest.mark.parametrize("write", [subtracted_from_the_word, subtracted_from_each_zero])
def test_a_zero_that_was_written_in_two_ways_is_refused(write):
    qweight, qzeros, scales = with_a_zero_of_zero()
    message = "stores 15 for group 1 of channel 3.*gptq_v2.*zeros_stored_minus_one=False"
    with pytest.raises(ValueError, match=message):
        from_gptq(qweight, write(qzeros), scales)
    assert from_gptq(qweight, qzeros, scales, zeros_stored_minus_one=False).zeros[3, 1] == 0


@pytest.mark.parametrize("write", [subtracted_from_the_word, subtracted_from_each_zero])
def test_without_a_zero_of_zero_the_two_ways_are_one(write):
    codes, zeros, scales = layer(4, smallest_zero=1)
    qweight, qzeros, _ = gptq(codes, zeros, scales, 4, minus_one=False)
    assert_is(from_gptq(qweight, write(qzeros), scales.T), codes, zeros, scales, 4)


QWEIGHT, QZEROS, SCALES = gptq(*layer(4, smallest_zero=1), 4)  # K = 192, N = 64, three groups
A_QWEIGHT, A_QZEROS, A_SCALES = awq(*layer(4))
IN_GROUPS = torch.arange(192) // 64

BAD_VALUES = {
    "nbits 5": (lambda: from_gptq(QWEIGHT, QZEROS, SCALES, nbits=5), "2, 3, 4 or 8.*5"),
    "3 bits of two words": (lambda: from_gptq(QWEIGHT[:2], QZEROS, SCALES, nbits=3), "multiple"),
    "N within a word": (
        lambda: from_gptq(QWEIGHT[:, :60], QZEROS, SCALES[:, :60]),
        "N = 60 zeros are 240 bits",
    ),
    "qweight of rank 1": (lambda: from_gptq(QWEIGHT[0], QZEROS, SCALES), r"qweight.*\(64,\)"),
    "no qweight": (lambda: from_gptq(QWEIGHT[:0], QZEROS, SCALES), r"qweight.*\(0, 64\)"),
    "scales of other channels": (
        lambda: from_gptq(QWEIGHT, QZEROS, SCALES[:, :32]),
        r"\(groups, 64\), got \(3, 32\)",
    ),
    "scales not transposed": (lambda: from_gptq(QWEIGHT, QZEROS, SCALES.T), r"got \(64, 3\)"),
    "no scales": (lambda: from_gptq(QWEIGHT, QZEROS, SCALES[:0]), r"got \(0, 64\)"),
    "zeros of fewer groups": (
        lambda: from_gptq(QWEIGHT, QZEROS[:2], SCALES),
        r"qzeros must have shape \(3, 8\), got \(2, 8\)",
    ),
    "groups that do not divide K": (
        lambda: from_gptq(QWEIGHT[:20], QZEROS, SCALES),
        "3 groups.*K = 160",
    ),
    "act order": (
        lambda: from_gptq(QWEIGHT, QZEROS, SCALES, IN_GROUPS.flip(0)),
        "not k // 64 .*desc_act=False",
    ),
    "a short last group": (
        lambda: from_gptq(QWEIGHT, QZEROS, SCALES, torch.arange(192) // 80),
        "not k // 64 .*shorter last group",
    ),
    "g_idx of another K": (
        lambda: from_gptq(QWEIGHT, QZEROS, SCALES, IN_GROUPS[:100]),
        r"g_idx must have shape \(192,\), got \(100,\)",
    ),
    "AWQ of 8 bits": (lambda: from_awq(A_QWEIGHT, A_QZEROS, A_SCALES, nbits=8), "4 bits.*8"),
    "AWQ scales of other channels": (
        lambda: from_awq(A_QWEIGHT, A_QZEROS, A_SCALES[:, :8]),
        r"\(groups, 64\), got \(3, 8\)",
    ),
    "AWQ zeros of other channels": (
        lambda: from_awq(A_QWEIGHT, A_QZEROS[:, :4], A_SCALES),
        r"qzeros must have shape \(3, 8\), got \(3, 4\)",
    ),
    "AWQ groups that do not divide K": (
        lambda: from_awq(A_QWEIGHT[:100], A_QZEROS, A_SCALES),
        "3 groups.*K = 100",
    ),
    "GPTQ read as AWQ": (lambda: from_awq(QWEIGHT, QZEROS, SCALES), r"\(groups, 512\)"),
}

BAD_TYPES = {
    "int64 qweight": (lambda: from_gptq(QWEIGHT.long(), QZEROS, SCALES), "qweight.*int64"),
    "float qzeros": (lambda: from_gptq(QWEIGHT, QZEROS.float(), SCALES), "qzeros.*float32"),
    "list of words": (lambda: from_awq(A_QWEIGHT.tolist(), A_QZEROS, A_SCALES), "qweight.*list"),
    "int scales": (lambda: from_awq(A_QWEIGHT, A_QZEROS, A_SCALES.int()), "scales.*int32"),
    "no scales": (lambda: from_gptq(QWEIGHT, QZEROS, None), "scales.*NoneType"),
    "float g_idx": (lambda: from_gptq(QWEIGHT, QZEROS, SCALES, IN_GROUPS.float()), "g_idx"),
    "nbits float": (lambda: from_gptq(QWEIGHT, QZEROS, SCALES, nbits=3.0), "nbits.*float"),
    "AWQ nbits True": (lambda: from_awq(A_QWEIGHT, A_QZEROS, A_SCALES, nbits=True), "nbits.*bool"),
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
