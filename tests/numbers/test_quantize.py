import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gemlite_edu import QuantizedWeight, quantize_linear, quantize_ternary

property_test = settings(derandomize=True, deadline=None, max_examples=100)

EPS = torch.finfo(torch.float32).eps
TINY = torch.finfo(torch.float32).tiny
LARGEST = 2.0**100

MODES = {
    "asymmetric": dict(),
    "asymmetric-real-zeros": dict(integer_zeros=False),
    "symmetric": dict(symmetric=True),
    "symmetric-real-zeros": dict(symmetric=True, integer_zeros=False),
}
modes = st.sampled_from(list(MODES.values()))
widths = st.integers(1, 8)
any_mode = pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
any_width = pytest.mark.parametrize("nbits", range(1, 9))


@st.composite
def matrices(draw):
    """(W, scope): a small float32 matrix, and how much of it shares one scale."""
    N = draw(st.integers(1, 4))
    group_size = draw(st.integers(1, 9))
    K = group_size * draw(st.integers(1, 4))
    weights = st.floats(-LARGEST, LARGEST, width=32)
    W = torch.tensor(draw(st.lists(weights, min_size=N * K, max_size=N * K))).view(N, K)
    scope = draw(
        st.sampled_from([dict(group_size=group_size), dict(group_size=None), dict(per_tensor=True)])
    )
    return W, scope


def grouped(W, scope):
    """W in float64 as (groups, members), in the order of `scales.flatten()`."""
    if scope.get("per_tensor"):
        return W.double().reshape(1, -1)
    return W.double().reshape(-1, scope["group_size"] or W.shape[1])


def exact_dequantization(q, scope):
    """(W_q - zeros) * scales in float64, grouped."""
    return (grouped(q.W_q, scope) - q.zeros.double().view(-1, 1)) * q.scales.double().view(-1, 1)


def span_with_zero(W):
    return W.amax(1).clamp(min=0) - W.amin(1).clamp(max=0)


@property_test
@given(matrices(), widths, modes)
def test_shapes_and_types_follow_the_scope(matrix, nbits, mode):
    W, scope = matrix
    N, K = W.shape
    q = quantize_linear(W, nbits, **scope, **mode)
    groups = (1, 1) if scope.get("per_tensor") else (N, K // (scope["group_size"] or K))
    assert (q.W_q.shape, q.W_q.dtype) == ((N, K), torch.uint8)
    assert (q.scales.shape, q.scales.dtype) == (groups, torch.float32)
    assert (q.zeros.shape, q.zeros.dtype) == (groups, torch.float32)
    assert (q.nbits, q.group_size) == (nbits, scope.get("group_size") or K)
    assert q.W_q.max().item() < 2**nbits


@property_test
@given(matrices(), widths, st.booleans())
def test_asymmetric_rounding_stays_within_half_a_step(matrix, nbits, integer_zeros):
    W, scope = matrix
    q = quantize_linear(W, nbits, **scope, integer_zeros=integer_zeros)
    real = grouped(W, scope)
    error = (exact_dequantization(q, scope) - real).abs()
    steps = q.scales.double().abs().view(-1, 1)
    slack = 2**nbits * (4 * EPS * steps + TINY)
    assert (error <= steps / 2 + slack).all()


@property_test
@given(matrices(), widths, st.booleans())
def test_symmetric_rounding_stays_within_one_step(matrix, nbits, integer_zeros):
    W, scope = matrix
    q = quantize_linear(W, nbits, **scope, symmetric=True, integer_zeros=integer_zeros)
    error = (exact_dequantization(q, scope) - grouped(W, scope)).abs()
    steps = q.scales.double().abs().view(-1, 1)
    slack = 2**nbits * (4 * EPS * steps + TINY)
    assert (error <= steps + slack).all()


@property_test
@given(matrices(), widths, st.booleans())
def test_asymmetric_steps_are_no_wider_than_the_range_needs(matrix, nbits, integer_zeros):
    W, scope = matrix
    q = quantize_linear(W, nbits, **scope, integer_zeros=integer_zeros)
    widest = span_with_zero(grouped(W, scope)) / (2**nbits - 1)
    fits = q.scales.double().view(-1) <= widest * (1 + 4 * EPS) + TINY
    assert (fits | (widest == 0)).all()


@property_test
@given(matrices(), widths, st.booleans())
def test_symmetric_steps_are_no_wider_than_the_range_needs(matrix, nbits, integer_zeros):
    W, scope = matrix
    q = quantize_linear(W, nbits, **scope, symmetric=True, integer_zeros=integer_zeros)
    codes_on_a_side = 2 ** (nbits - 1) if integer_zeros else (2**nbits - 1) / 2
    widest = grouped(W, scope).abs().amax(1) / codes_on_a_side
    fits = q.scales.double().view(-1).abs() <= widest * (1 + 4 * EPS) + TINY
    assert (fits | (widest == 0)).all()


@property_test
@given(matrices(), widths)
def test_integer_zeros_are_codes(matrix, nbits):
    W, scope = matrix
    zeros = quantize_linear(W, nbits, **scope).zeros
    assert torch.equal(zeros, zeros.round())
    assert zeros.min() >= 0
    assert zeros.max() <= 2**nbits - 1


@property_test
@given(matrices(), widths)
def test_symmetric_zeros_are_in_the_middle(matrix, nbits):
    W, scope = matrix
    integer = quantize_linear(W, nbits, **scope, symmetric=True)
    real = quantize_linear(W, nbits, **scope, symmetric=True, integer_zeros=False)
    assert (integer.zeros == 2 ** (nbits - 1)).all()
    assert (real.zeros == (2**nbits - 1) / 2).all()


@property_test
@given(st.floats(width=16, allow_nan=False, allow_infinity=False), widths, modes, st.booleans())
def test_constant_group_comes_back_exactly(constant, nbits, mode, per_tensor):
    W = torch.full((2, 6), constant)
    scope = dict(per_tensor=True) if per_tensor else dict(group_size=3)
    back = quantize_linear(W, nbits, **scope, **mode).dequantize()
    assert torch.equal(back.half(), W.half())


@property_test
@given(st.floats(-LARGEST, LARGEST, width=32), widths, modes)
def test_constant_group_out_of_the_fp16_range_comes_back(constant, nbits, mode):
    W = torch.full((1, 4), constant)
    back = quantize_linear(W, nbits, **mode).dequantize()
    assert ((back - W).abs() <= 2**-11 * W.abs() + TINY).all()


@property_test
@given(matrices(), widths, modes)
def test_zero_groups_come_back_as_zeros(matrix, nbits, mode):
    W, scope = matrix
    if scope.get("per_tensor"):
        W = torch.zeros_like(W)
    W[-1] = 0
    assert (quantize_linear(W, nbits, **scope, **mode).dequantize()[-1] == 0).all()


@pytest.mark.parametrize("symmetric", [False, True])
@any_width
def test_zero_row_beside_others_in_one_tensor_comes_back_as_zeros(nbits, symmetric):
    W = torch.tensor([[0.0, 0.0], [3.0, -7.0]])
    q = quantize_linear(W, nbits, symmetric=symmetric, per_tensor=True)
    assert (q.dequantize()[0] == 0).all()


@any_mode
@any_width
def test_one_sided_weights_keep_their_sign(nbits, mode):
    W = torch.tensor([[1.0, 2.0, 3.0, 4.0], [-1.0, -2.0, -3.0, -4.0]])
    back = quantize_linear(W, nbits, **mode).dequantize()
    assert back[0, -1] > 0
    assert back[1, -1] < 0


@any_mode
def test_outlier_stays_in_its_group(mode):
    W = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))
    W[:, 5] = 1000.0
    whole = quantize_linear(W, 4, group_size=16, **mode).dequantize()
    parts = [quantize_linear(part, 4, **mode).dequantize() for part in W.split(16, dim=1)]
    assert torch.equal(whole, torch.cat(parts, dim=1))


def test_codes_spread_over_the_whole_range():
    W = torch.arange(256.0).view(1, 256)
    assert quantize_linear(W, 8).W_q.tolist() == [list(range(256))]
    assert quantize_linear(-W, 8).W_q.tolist() == [list(range(255, -1, -1))]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@any_mode
def test_weights_of_every_float_type_quantize_as_their_values(dtype, mode):
    W = torch.randn(5, 24, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    W = W.clamp(-4, 4).where(W.abs() > 2**-10, 0)
    expected = quantize_linear(W.float(), 3, group_size=8, **mode)
    q = quantize_linear(W.to(dtype), 3, group_size=8, **mode)
    assert torch.equal(q.W_q, expected.W_q)
    assert torch.equal(q.scales, expected.scales)
    assert torch.equal(q.zeros, expected.zeros)


def test_transposed_weights_quantize_as_their_copy():
    W = torch.randn(24, 5, generator=torch.Generator().manual_seed(0)).T
    assert torch.equal(quantize_linear(W, 4, 8).W_q, quantize_linear(W.contiguous(), 4, 8).W_q)


def test_weights_are_left_alone():
    W = torch.nn.Parameter(torch.randn(4, 8, generator=torch.Generator().manual_seed(0)))
    before = W.detach().clone()
    q = quantize_linear(W, 4, 4)
    assert torch.equal(W, before)
    assert not q.scales.requires_grad
    assert not q.dequantize().requires_grad


@property_test
@given(matrices(), widths, modes)
def test_dequantize_is_code_minus_zero_times_scale(matrix, nbits, mode):
    W, scope = matrix
    q = quantize_linear(W, nbits, **scope, **mode)
    zeros, scales = q.zeros.view(-1, 1), q.scales.view(-1, 1)
    codes = q.W_q.view(grouped(W, scope).shape)
    assert torch.equal(q.dequantize(), ((codes - zeros) * scales).view(W.shape))
    exact = exact_dequantization(q, scope).view(W.shape)
    assert torch.equal(q.dequantize(torch.float64), exact)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_dequantize_in_half_precision_rounds_the_scale_and_the_product(dtype):
    W = torch.randn(4, 32, generator=torch.Generator().manual_seed(0))
    q = quantize_linear(W, 8, group_size=16)
    back = q.dequantize(dtype)
    assert back.dtype == dtype
    exact = q.dequantize(torch.float64)
    smallest_step = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    assert ((back - exact).abs() <= torch.finfo(dtype).eps * exact.abs() + smallest_step).all()


W = torch.ones(4, 8)

BAD_VALUES = {
    "nbits 0": (lambda: quantize_linear(W, 0), "0"),
    "nbits 9": (lambda: quantize_linear(W, 9), "9"),
    "nbits negative": (lambda: quantize_linear(W, -1), "-1"),
    "group_size that does not divide": (lambda: quantize_linear(W, 4, 3), "3"),
    "group_size over K": (lambda: quantize_linear(W, 4, 16), "16"),
    "group_size 0": (lambda: quantize_linear(W, 4, 0), "0"),
    "group_size negative": (lambda: quantize_linear(W, 4, -4), "-4"),
    "rank 1": (lambda: quantize_linear(W[0], 4), r"\(8,\)"),
    "rank 3": (lambda: quantize_linear(W[None], 4), r"\(1, 4, 8\)"),
    "no rows": (lambda: quantize_linear(W[:0], 4), r"\(0, 8\)"),
    "ternary of rank 1": (lambda: quantize_ternary(W[0]), r"\(8,\)"),
    "ternary NaN": (lambda: quantize_ternary(W * math.nan), "NaN"),
    "ternary over float32": (lambda: quantize_ternary(W.double() * 1e300), "mean"),
    "NaN": (lambda: quantize_linear(W * math.nan, 4), "NaN"),
    "infinity": (lambda: quantize_linear(-W / 0, 4), "infinit?e?"),
    "range over float32": (lambda: quantize_linear(W.double() * 1e300, 4), "range"),
    "per_tensor and group_size": (
        lambda: quantize_linear(W, 4, 4, per_tensor=True),
        "per_tensor.*group_size",
    ),
    "per_tensor and group_size K": (
        lambda: quantize_linear(W, 4, 8, per_tensor=True),
        "per_tensor.*group_size",
    ),
}

BAD_TYPES = {
    "ternary int32": (lambda: quantize_ternary(W.int()), "int32"),
    "nbits float": (lambda: quantize_linear(W, 4.0), "nbits.*float"),
    "nbits True": (lambda: quantize_linear(W, True), "nbits.*bool"),
    "nbits string": (lambda: quantize_linear(W, "4"), "nbits.*str"),
    "nbits None": (lambda: quantize_linear(W, None), "nbits.*None"),
    "group_size float": (lambda: quantize_linear(W, 4, 4.0), "group_size.*float"),
    "group_size True": (lambda: quantize_linear(W, 4, True), "group_size.*bool"),
    "symmetric": (lambda: quantize_linear(W, 4, symmetric="no"), "symmetric must be .*, got str"),
    "per_tensor": (lambda: quantize_linear(W, 4, per_tensor=1), "per_tensor must be .*, got int"),
    "zeros": (lambda: quantize_linear(W, 4, integer_zeros=3), "integer_zeros must be .*, got int"),
    "sparse": (lambda: quantize_linear(W.to_sparse(), 4), "W must be a dense tensor, got"),
    "list": (lambda: quantize_linear(W.tolist(), 4), "list"),
    "array": (lambda: quantize_linear(W.numpy(), 4), "ndarray"),
    "int32": (lambda: quantize_linear(W.int(), 4), "int32"),
    "bool": (lambda: quantize_linear(W > 0, 4), "bool"),
    "complex": (lambda: quantize_linear(W + 0j, 4), "complex64"),
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


@given(st.integers(1, 40), st.integers(1, 60), st.integers(0, 2**31), st.floats(1e-3, 1e3))
@settings(max_examples=60, deadline=None)
def test_ternary_weights_are_rounded_in_units_of_their_mean(N, K, seed, size):
    """BitNet's formula, weight by weight, in python's own numbers."""
    W = size * torch.randn(N, K, generator=torch.Generator().manual_seed(seed))
    q = quantize_ternary(W)
    values = W.double().flatten().tolist()
    mean = max(math.fsum(map(abs, values)) / len(values), 1e-5)
    assert q.scales.item() == pytest.approx(mean, rel=2**-23)
    for value, code in zip(values, q.W_q.flatten().tolist(), strict=True):
        steps = value / mean
        if abs(abs(steps) - 0.5) > 1e-9:  # where the last bit of the mean decides
            assert code - 2 == max(-1, min(1, round(steps)))
    assert (q.nbits, q.group_size, q.zeros.item()) == (2, K, 2.0)
    assert q.scales.shape == q.zeros.shape == (1, 1)


@pytest.mark.parametrize("constant", [0.0, 1e-9, 0.5, -3.0])
def test_a_constant_ternary_matrix_comes_back_or_is_zero(constant):
    back = quantize_ternary(torch.full((3, 5), constant)).dequantize()
    assert torch.equal(back, torch.full((3, 5), constant if abs(constant) > 1e-5 else 0.0))


def test_ternary_weights_of_every_float_type_quantize_as_their_values():
    W = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        narrow, wide = quantize_ternary(W.to(dtype)), quantize_ternary(W.to(dtype).double())
        assert torch.equal(narrow.W_q, wide.W_q) and torch.equal(narrow.scales, wide.scales)


def quantized_weight(**changed):
    fields = dict(
        W_q=torch.full((4, 8), 15, dtype=torch.uint8),
        scales=torch.ones(4, 2),
        zeros=torch.ones(4, 2),
        nbits=4,
        group_size=4,
    )
    return QuantizedWeight(**fields | changed)


def test_quantized_weight_accepts_one_scale_for_the_tensor():
    one = torch.ones(1, 1)
    assert (quantized_weight(scales=one, zeros=one).dequantize() == 14).all()


@pytest.mark.parametrize(
    "changed, error, named",
    [
        (dict(nbits=3), ValueError, "15"),
        (dict(nbits=9), ValueError, "9"),
        (dict(nbits=True), TypeError, "bool"),
        (dict(W_q=torch.ones(8, dtype=torch.uint8)), ValueError, r"\(8,\)"),
        (dict(W_q=torch.ones(4, 8, dtype=torch.int32)), TypeError, "int32"),
        (dict(W_q=[[1] * 8] * 4), TypeError, "list"),
        (dict(group_size=3), ValueError, "3"),
        (dict(group_size=8), ValueError, r"scales.*\(4, 2\)"),
        (dict(scales=torch.ones(4, 1)), ValueError, r"scales.*\(4, 1\)"),
        (dict(zeros=torch.ones(2, 2)), ValueError, r"zeros.*\(2, 2\)"),
        (dict(scales=torch.ones(4, 2).half()), TypeError, "scales.*float16"),
        (dict(zeros=torch.ones(4, 2).int()), TypeError, "zeros.*int32"),
        (dict(scales=None), TypeError, "scales.*None"),
        (dict(zeros=8.0), TypeError, "zeros.*float"),
    ],
)
def test_quantized_weight_refuses_parts_that_do_not_fit(changed, error, named):
    with pytest.raises(error, match=named) as caught:
        quantized_weight(**changed)
    assert "\n" not in str(caught.value)
