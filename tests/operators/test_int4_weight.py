"""Int4Weight: where the shapes and types of packed int4 weights are checked."""

import dataclasses

import pytest
import torch

from gemlite_edu import pack_2xint4, quantize_linear
from gemlite_edu.operators.int4_weight import Int4Weight

N, K, GROUP = 6, 16, 4
FLOATS = [torch.float16, torch.bfloat16, torch.float32]
PACKED = torch.full((K // 2, N), 0x21, dtype=torch.uint8)
SCALES = torch.ones(K // GROUP, N)
ZEROS = torch.zeros(K // GROUP, N)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("codes_dtype", [torch.uint8, torch.int8])
@pytest.mark.parametrize("group_size", [1, 2, 4, 8, 16])
def test_a_weight_is_its_code_less_its_zero_times_its_scale(group_size, codes_dtype):
    low = -8 if codes_dtype == torch.int8 else 0
    W_q = torch.randint(low, low + 16, (N, K), generator=seeded()).to(codes_dtype)
    shape = K // group_size, N
    scales, zeros = torch.rand(shape, generator=seeded(1)), torch.rand(shape, generator=seeded(2))
    weight = Int4Weight(pack_2xint4(W_q.T), scales, zeros, group_size)
    assert (weight.N, weight.K) == (N, K)
    W = weight.dequantize(torch.float64)
    assert W.shape == (N, K) and W.dtype == torch.float64
    for n in range(N):
        for k in range(K):
            group = k // group_size
            scale, zero = scales[group, n].double(), zeros[group, n].double()
            assert W[n, k] == (W_q[n, k].double() - zero) * scale


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("options", [{"group_size": 4}, {}, {"per_tensor": True}], ids=str)
def test_the_weight_of_quantized_codes_is_theirs(options, dtype):
    W = torch.randn(N, K, generator=seeded())
    q = quantize_linear(W, 4, integer_zeros=False, **options)
    weight = Int4Weight.from_quantized(q, dtype)
    assert weight.scales.dtype == weight.zeros.dtype == dtype
    assert weight.group_size == q.group_size
    rounded = dataclasses.replace(
        q, scales=q.scales.to(dtype).float(), zeros=q.zeros.to(dtype).float()
    )
    assert torch.equal(weight.dequantize(torch.float64), rounded.dequantize(torch.float64))


def test_the_weight_of_quantized_codes_has_scales_of_fp32_unless_asked():
    weight = Int4Weight.from_quantized(quantize_linear(torch.randn(N, K, generator=seeded()), 4))
    assert weight.scales.dtype == weight.zeros.dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float64, *FLOATS])
def test_dense_weights_have_the_type_asked_for(dtype):
    assert Int4Weight(PACKED, SCALES, ZEROS, GROUP).dequantize(dtype).dtype == dtype


def test_any_strides_are_the_same_weight():
    scales, zeros = torch.rand(2, K // GROUP, N, generator=seeded())
    packed = torch.randint(0, 256, (K // 2, N), dtype=torch.uint8, generator=seeded(1))
    expected = Int4Weight(packed, scales, zeros, GROUP).dequantize()
    wide = torch.zeros(2 * K // GROUP, 3 * N)
    wide[::2, ::3] = scales
    others = Int4Weight(packed.T.contiguous().T, wide[::2, ::3], zeros.T.contiguous().T, GROUP)
    assert torch.equal(others.dequantize(), expected)


@pytest.mark.parametrize("size", [1e6, 1e-8])
def test_scales_that_do_not_fit_a_type_are_refused(size):
    q = quantize_linear(size * torch.randn(3, 8, generator=seeded()), 4)
    with pytest.raises(ValueError, match="does not fit in torch.float16: take torch.float32"):
        Int4Weight.from_quantized(q, torch.float16)
    assert Int4Weight.from_quantized(q).scales.isfinite().all()


def test_scales_and_zeros_may_have_types_of_their_own():
    weight = Int4Weight(PACKED, SCALES.half(), ZEROS.bfloat16(), GROUP)
    assert torch.equal(weight.dequantize(), Int4Weight(PACKED, SCALES, ZEROS, GROUP).dequantize())


def test_a_weight_cannot_be_changed():
    weight = Int4Weight(PACKED, SCALES, ZEROS, GROUP)
    with pytest.raises(dataclasses.FrozenInstanceError):
        weight.group_size = 8


def weight(packed=PACKED, scales=SCALES, zeros=ZEROS, group_size=GROUP):
    return Int4Weight(packed, scales, zeros, group_size)


BAD_VALUES = {
    "bytes of rank 1": (lambda: weight(PACKED[0]), r"packed must be a matrix.*\(6,\)"),
    "bytes of rank 3": (lambda: weight(PACKED[None]), r"packed must be a matrix.*\(1, 8, 6\)"),
    "no bytes": (lambda: weight(PACKED[:, :0]), r"packed.*not empty, got \(8, 0\)"),
    "scales of rank 1": (lambda: weight(scales=SCALES[0]), r"scales must be a matrix.*\(6,\)"),
    "no zeros": (lambda: weight(zeros=ZEROS[:0]), r"zeros.*not empty, got \(0, 6\)"),
    "scales transposed": (
        lambda: weight(scales=SCALES.T),
        r"scales must have shape \(K / group_size, N\) = \(4, 6\), got \(6, 4\)",
    ),
    "zeros of one group": (lambda: weight(zeros=ZEROS[:1]), r"zeros .*\(4, 6\), got \(1, 6\)"),
    "scales of another group size": (lambda: weight(group_size=8), r"scales .*\(2, 6\), got"),
    "bytes transposed": (lambda: weight(PACKED.T), r"scales .*\(3, 8\), got \(4, 6\)"),
    "group size 0": (lambda: weight(group_size=0), "group_size = 0 does not divide K = 16"),
    "group size -4": (lambda: weight(group_size=-4), "group_size = -4 does not divide K = 16"),
    "group size 5": (lambda: weight(group_size=5), "group_size = 5 does not divide K = 16"),
    "group size 32": (lambda: weight(group_size=32), "group_size = 32 does not divide K = 16"),
    "scales elsewhere": (lambda: weight(scales=SCALES.to("meta")), "scales is on meta and packed"),
    "zeros elsewhere": (lambda: weight(zeros=ZEROS.to("meta")), "zeros is on meta and packed"),
    "3 bits": (
        lambda: Int4Weight.from_quantized(quantize_linear(torch.ones(2, 4), 3)),
        "4 bits, these have 3",
    ),
    "odd K": (
        lambda: Int4Weight.from_quantized(quantize_linear(torch.ones(2, 5), 4)),
        r"even K, got \(5, 2\)",
    ),
}
BAD_TYPES = {
    "bytes of int32": (lambda: weight(PACKED.int()), "packed.*got torch.int32"),
    "bytes of fp16": (lambda: weight(PACKED.half()), "packed.*got torch.float16"),
    "a list of bytes": (lambda: weight(PACKED.tolist()), "packed must be a torch.Tensor, got list"),
    "no scales": (lambda: weight(scales=None), "scales must be a torch.Tensor, got NoneType"),
    "a number for zeros": (lambda: weight(zeros=8.0), "zeros must be a torch.Tensor, got float"),
    "scales of fp64": (lambda: weight(scales=SCALES.double()), "scales.*got torch.float64"),
    "zeros of int32": (lambda: weight(zeros=ZEROS.int()), "zeros.*got torch.int32"),
    "sparse scales": (lambda: weight(scales=SCALES.to_sparse()), "scales must be a dense tensor"),
    "group size 4.0": (lambda: weight(group_size=4.0), "group_size must be an int, got float"),
    "group size True": (lambda: weight(group_size=True), "group_size must be an int, got bool"),
    "group size None": (lambda: weight(group_size=None), "group_size must be an int, got NoneType"),
}


@pytest.mark.parametrize("call, named", BAD_VALUES.values(), ids=BAD_VALUES.keys())
def test_a_bad_value_is_named_in_one_sentence(call, named):
    with pytest.raises(ValueError, match=named) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call, named", BAD_TYPES.values(), ids=BAD_TYPES.keys())
def test_a_bad_type_is_named_in_one_sentence(call, named):
    with pytest.raises(TypeError, match=named) as caught:
        call()
    assert "\n" not in str(caught.value)
