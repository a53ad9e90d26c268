"""Any matrix to any format: no level is nearer, and scales follow the written rules."""

from dataclasses import replace

import pytest
import torch

from gemlite_edu import (
    FP4_E2M1,
    FP8_E4M3,
    INT3,
    INT4,
    INT8,
    MXFP4,
    NF4,
    NVFP4,
    CodedWeight,
    Format,
    log2_format,
    quantize_linear,
    quantize_to_format,
)
from gemlite_edu.numbers import coded_weight, formats
from gemlite_edu.numbers.nearest import nearest_levels
from gemlite_lab.lesson.real_layer import LAYERS, real_layer

E8M0, E4M3 = torch.float8_e8m0fnu, torch.float8_e4m3fn
UNSORTED = Format(3, (0.3, -2, 0.3, 5, 0, -0.0, -2, 1e-3), group_size=8)
POSITIVE = Format(2, (1, 2, 4, 8), group_size=4)
PRESETS = ("NF4", "FP4_E2M1", "MXFP4", "NVFP4", "FP6_E2M3", "FP6_E3M2", "FP8_E4M3")
TABLES = {
    **{name: getattr(formats, name) for name in PRESETS},
    **{f"log2 {nbits}": log2_format(nbits) for nbits in (1, 4, 8)},
    "unsorted": UNSORTED,
    "positive": POSITIVE,
    "one level": Format(1, (0.5, 0.5)),
    "powers of two": replace(UNSORTED, scale_dtype=E8M0),
    "small scales": replace(UNSORTED, scale_dtype=E4M3),
    "one scale": replace(FP8_E4M3, scale_dtype=None, has_tensor_scale=True),
    "no scale": replace(FP8_E4M3, scale_dtype=None),
}  # fmt: skip
INTEGERS = {
    "fp16": replace(INT4, group_size=16),
    "fp32": replace(INT3, scale_dtype=torch.float32),
    "e8m0": replace(INT4, group_size=16, scale_dtype=E8M0),
    "e4m3": replace(INT8, group_size=16, scale_dtype=E4M3, has_tensor_scale=True),
    "none": replace(INT4, group_size=16, scale_dtype=None),
    "one bit": Format(1, group_size=8, scale_dtype=E8M0),
}
both = pytest.mark.parametrize(
    "format", [*TABLES.values(), *INTEGERS.values()], ids=[*TABLES, *INTEGERS]
)


def weights(N=9, K=64, seed=0):
    """Numbers of many magnitudes; one group of zeros, and one whose largest number is negative."""
    generator = torch.Generator().manual_seed(seed)
    W = torch.randn(N, K, generator=generator) * torch.rand(N, 1, generator=generator) * 3
    W[0, :32] = 0
    W[1, 0] = -20
    return W


def least_errors(q, W):
    """The error of each weight if all codes are tried, (N, K) float64."""
    N, K = W.shape
    steps = torch.ones(N, 1, dtype=torch.float64) if q.scales is None else q.scales.double()
    if q.tensor_scale is not None:
        steps = steps * q.tensor_scale.double()
    steps = steps.repeat_interleave(K // steps.shape[1], 1)
    numbers = torch.arange(2.0**q.format.nbits).double()
    if q.format.levels is not None:
        numbers = torch.tensor(q.format.levels, dtype=torch.float64)
    numbers = numbers.expand(N, K, -1)
    if q.zeros is not None:
        numbers = numbers - q.zeros.double().repeat_interleave(K // q.zeros.shape[1], 1)[..., None]
    return (numbers * steps[..., None] - W.double()[..., None]).abs().amin(-1)


@both
def test_no_code_is_nearer(format):
    W = weights()
    q = quantize_to_format(W, format)
    errors = (q.dequantize(torch.float64) - W.double()).abs()
    assert torch.allclose(errors, least_errors(q, W), rtol=1e-12, atol=1e-15)
    assert q.error(W) == pytest.approx((errors.norm() / W.double().norm()).item(), rel=1e-12)


@pytest.mark.parametrize("format", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("step", [1.0, 0.375, 3e-5])
def test_the_nearest_level_is_that_of_an_exhaustive_search(format, step):
    """At every level and middle, and beside them; ties by (odd code, code)."""
    levels = torch.tensor(format.levels, dtype=torch.float64)
    ordered = levels.unique()
    middles = (ordered[1:] + ordered[:-1]) / 2
    at = torch.cat([ordered, middles, ordered[:1] - 1, ordered[-1:] + 1]) * step
    W = torch.cat([at, at * (1 + 1e-9), at * (1 - 1e-9)]).view(1, -1)
    steps = torch.tensor([[step]], dtype=torch.float64)
    distances = (W[0, :, None] - levels * steps).abs().tolist()
    numbers = format.levels
    first = [numbers.index(number) for number in numbers]
    expected = [min(set(first), key=lambda code: (row[code], code % 2, code)) for row in distances]
    assert nearest_levels(W, steps, format.levels)[0].tolist() == expected


def test_ties_go_to_the_even_code_as_floats_round():
    W = torch.tensor([[6.0, 5, 3.5, 2.5, 0.25, 0.75, -5, -0.25]])
    q = quantize_to_format(W, FP4_E2M1)
    assert q.dequantize().tolist() == [[6, 4, 4, 2, 0, 1, -4, 0]]
    numbers = torch.arange(-448, 448.25, 0.25).view(1, -1)
    eighths = quantize_to_format(numbers, FP8_E4M3)
    assert eighths.scales.item() == 1
    assert torch.equal(eighths.dequantize(), numbers.to(E4M3).float())
    assert not set(eighths.codes.flatten().tolist()) & {0x7F, 0xFF}


def test_e8m0_scales_follow_the_microscaling_specification():
    """Section 6.3: the largest power of two up to the largest |w|, over 4, E2M1's largest one."""
    largest = [6.0, 7.99, 8.0, 4.0, 3.999, 0.7, 1e-30, 3e38, 2.0**-125, 2.0**-140, 0.0]
    scales = quantize_to_format(torch.tensor(largest).view(-1, 1).repeat(1, 32), MXFP4).scales
    expected = [1, 1, 2, 1, 0.5, 0.125, 2.0**-102, 2.0**125, 2.0**-127, 2.0**-127, 2.0**-127]
    assert scales.double().flatten().tolist() == expected


def test_e8m0_scales_fit_the_largest_level_of_any_format():
    W = torch.tensor([[0.0, 7.0], [0.0, 8.0]])
    for format, expected in ((NF4, [4, 8]), (FP8_E4M3, [2**-6, 2**-5]), (INT4, [0.5, 1])):
        scales = quantize_to_format(W, replace(format, scale_dtype=E8M0)).scales
        assert scales.float().flatten().tolist() == expected


def test_nvfp4_scales_follow_nvidias_rule():
    """All of it in float32, on weights whose tensor scale is exact."""
    W = weights(K=64) / 20 * 6 * 448
    q = quantize_to_format(W, NVFP4)
    amax = W.view(9, -1, 16).abs().amax(-1)
    assert q.tensor_scale == W.abs().max() / (6 * 448) == 1
    expected = (amax / 6 / q.tensor_scale).to(E4M3).float()
    assert (expected > 0).sum() == 34 and torch.equal(q.scales.float(), expected)


def test_a_small_scale_does_not_become_zero():
    """Half of E4M3's smallest number, 2**-9, would round to 0, and less than fp16's, 2**-24."""
    W = torch.zeros(1, 32)
    W[0, 0], W[0, 16] = 6 * 448, 6 * 2.0**-11
    q = quantize_to_format(W, NVFP4)
    assert q.scales.float().tolist() == [[448, 2.0**-9]] and q.tensor_scale == 1
    assert q.dequantize()[0, 16] == 1.5 * 2.0**-9
    tiny = quantize_to_format(W * 2.0**-40, replace(NF4, group_size=16))
    assert tiny.scales[0, 1] == 2.0**-24 and tiny.scales[0, 0] > 0


def test_integers_with_float32_scales_are_those_of_quantize_linear():
    for nbits in range(1, 9):
        for group_size in (None, 16):
            W = weights(seed=nbits)
            q = quantize_to_format(W, Format(nbits, None, None, group_size, torch.float32))
            linear = quantize_linear(W, nbits, group_size)
            assert torch.equal(q.codes, linear.W_q) and torch.equal(q.zeros, linear.zeros)
            assert torch.equal(q.scales[1:], linear.scales[1:])  # row 0 has a group of zeros
            assert torch.equal(q.dequantize(), linear.dequantize())


def test_integers_without_scales_are_rounded():
    W = torch.tensor([[-3.0, 11.4, 0.0, 7.6], [-20, 20, 1, 2], [100, 50, 1, 7]])
    q = quantize_to_format(W, replace(INT4, scale_dtype=None))
    assert q.scales is None and q.zeros.tolist() == [[3], [8], [0]]
    assert q.dequantize().tolist() == [[-3, 11, 0, 8], [-8, 7, 1, 2], [15, 15, 1, 7]]


@both
def test_zeros_stay_zeros(format):
    W = torch.zeros(3, 64)
    q = quantize_to_format(W, format)
    has_zero = format.levels is None or 0 in format.levels
    if has_zero or format.scale_dtype in (torch.float16, torch.float32):
        assert torch.equal(q.dequantize(), W) and q.error(W) == 0
    elif format.scale_dtype == E8M0:
        assert q.dequantize().abs().max() <= 2.0**-126


SYMMETRIC = (*PRESETS, "log2 1", "log2 4", "log2 8", "one scale", "no scale")


@pytest.mark.parametrize("name", SYMMETRIC)
def test_quantized_weights_stay_what_they_are(name):
    """A table whose two ends are as far from 0 gives the largest weight the largest level."""
    W = quantize_to_format(weights(), TABLES[name]).dequantize(torch.float64)
    assert torch.equal(quantize_to_format(W, TABLES[name]).dequantize(torch.float64), W)


def test_integers_of_all_codes_stay_what_they_are():
    W = ((torch.arange(64).view(2, 32) * 7 % 16) - 5) * torch.tensor([[0.25], [1.5]])
    assert quantize_to_format(W, INTEGERS["fp16"]).error(W) == 0


@pytest.mark.parametrize("name", LAYERS)
def test_the_errors_on_real_layers_are_in_the_order_of_the_formats(name):
    W = real_layer(name).weight
    signed = Format(4, tuple(range(-8, 8)))
    orders = [
        [formats.INT8, FP8_E4M3, formats.FP6_E3M2, NF4, FP4_E2M1, log2_format(4)],
        [formats.FP6_E2M3, formats.INT6, formats.INT5, NF4, INT4, signed, INT3, formats.INT2],
        [NVFP4, replace(FP4_E2M1, group_size=32), MXFP4, signed],
    ]
    for order in orders:
        errors = [quantize_to_format(W, format).error(W) for format in order]
        assert errors == sorted(errors)


def test_a_matrix_is_the_same_in_blocks_strides_and_types(monkeypatch):
    W = weights(K=32).bfloat16()
    q = quantize_to_format(W, NVFP4)
    monkeypatch.setattr(coded_weight, "_WEIGHTS_AT_ONCE", 64)
    column_major = W.T.contiguous().T
    for same in (W.float(), W.double(), column_major, W.clone().requires_grad_()):
        again = quantize_to_format(same, NVFP4)
        assert torch.equal(again.codes, q.codes) and torch.equal(again.dequantize(), q.dequantize())
        assert again.codes.is_contiguous() and again.error(same) == pytest.approx(q.error(W))


@pytest.mark.parametrize("shape", [(1, 1), (1, 48), (5, 1)])
def test_a_side_may_be_one(shape):
    W = torch.linspace(-1, 2, 48)[: shape[0] * shape[1]].view(shape)
    for format in (NF4, INT4, FP8_E4M3, replace(MXFP4, group_size=1)):
        q = quantize_to_format(W, format)
        assert q.codes.shape == shape and q.error(W) < 0.2


@pytest.mark.parametrize(
    "W, format, error, words",
    [
        (torch.eye(2).int(), NF4, TypeError, "W must be a floating-point tensor, got torch.int32"),
        ([[1.0]], NF4, TypeError, "W must be a floating-point tensor, got list"),
        (
            torch.eye(2).to_sparse(),
            NF4,
            TypeError,
            "W must be a dense tensor, got torch.sparse_coo",
        ),
        (torch.eye(2, device="meta"), NF4, ValueError, "W has no numbers, because it is on meta"),
        (torch.ones(3), NF4, ValueError, r"W must have shape \(N, K\) .* got \(3,\)"),
        (torch.ones(0, 3), NF4, ValueError, r"W must have shape \(N, K\) .* got \(0, 3\)"),
        (torch.tensor([[0, torch.nan]]), NF4, ValueError, r"W\[0, 1\] is nan"),
        (torch.tensor([[0], [-torch.inf]]), INT4, ValueError, r"W\[1, 0\] is -inf"),
        (torch.ones(1, 40), MXFP4, ValueError, "group_size = 32 does not divide K = 40"),
        (torch.full((1, 2), 1e6), NF4, ValueError, "a scale of 1e.06 does not fit in float16"),
        (
            torch.full((1, 16), 1e300, dtype=torch.float64),
            NVFP4,
            ValueError,
            "does not fit in float32",
        ),
        (
            torch.full((1, 32), 1e300, dtype=torch.float64),
            MXFP4,
            ValueError,
            "does not fit in float8_e8m0fnu",
        ),
        (torch.eye(2), NF4.levels, TypeError, "format must be a gemlite_edu.Format, .* got tuple"),
        (torch.eye(2), "NF4", TypeError, "format must be a gemlite_edu.Format, .* got str"),
    ],
)
def test_what_cannot_be_quantized_gets_one_sentence(W, format, error, words):
    with pytest.raises(error, match=words) as refusal:
        quantize_to_format(W, format)
    assert "\n" not in str(refusal.value)


CODES = torch.tensor([[0, 15, 7, 8]]).byte()
ONE, SCALAR = torch.ones(1, 1), torch.tensor(2.0)
SMALL = replace(NVFP4, group_size=2)


@pytest.mark.parametrize(
    "parts, error, words",
    [
        ((NF4.levels, CODES, ONE.half()), TypeError, "format must be a gemlite_edu.Format"),
        ((NF4, CODES.int(), ONE.half()), TypeError, "codes must be a torch.uint8 tensor"),
        ((NF4, CODES + 1, ONE.half()), ValueError, "codes has a code 16, but 4 bits end at 15"),
        ((NF4, CODES[0], ONE.half()), ValueError, r"codes must have shape \(N, K\)"),
        ((NF4, CODES), ValueError, r"scales must be a float16 tensor \(1, 1\), got None"),
        ((NF4, CODES, 1.0), TypeError, "scales must be a torch.Tensor, got float"),
        ((NF4, CODES, ONE), TypeError, "scales must be torch.float16, got torch.float32"),
        ((NF4, CODES, ONE[0].half()), ValueError, r"scales must have shape \(1, 1\) = \(N, gr"),
        ((NF4, CODES, ONE.half() / 0), ValueError, "scales must be finite"),
        ((NF4, CODES, ONE.half(), ONE), ValueError, "zeros must be None, because Format.* none"),
        ((INT4, CODES, ONE.half(), ONE.half()), TypeError, "zeros must be torch.float32"),
        ((NF4, CODES, ONE.half(), None, SCALAR), ValueError, "tensor_scale must be None"),
        ((SMALL, CODES, torch.ones(1, 2).to(E4M3)), ValueError, "tensor_scale must be a float32"),
        ((SMALL, CODES, torch.ones(1, 2).to(E4M3), None, ONE), ValueError, r"shape \(\), of one"),
        ((replace(NF4, group_size=3), CODES, ONE.half()), ValueError, "does not divide K = 4"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_get_one_sentence(parts, error, words):
    with pytest.raises(error, match=words) as refusal:
        CodedWeight(*parts)
    assert "\n" not in str(refusal.value)


def test_an_own_quantizer_hands_over_its_codes_and_scales():
    scales = torch.tensor([[-0.5, 3.0]]).to(E4M3)
    q = CodedWeight(SMALL, CODES, scales, tensor_scale=SCALAR)
    assert q.dequantize().tolist() == [[0, 6, 36, 0]]
    assert q.dequantize(torch.float16).dtype == torch.float16
    integers = CodedWeight(INT4, CODES, ONE.half(), torch.full((1, 1), 7.5))
    assert integers.dequantize().tolist() == [[-7.5, 7.5, -0.5, 0.5]]
    with pytest.raises(TypeError, match="dtype must be a float dtype of torch, got torch.int8"):
        q.dequantize(torch.int8)
    with pytest.raises(ValueError, match="W must have the shape of the codes"):
        q.error(torch.ones(4, 1))
    assert q.error(torch.zeros(1, 4)) == float("inf")
