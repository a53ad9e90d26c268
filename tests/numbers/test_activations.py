"""Codes and scales of activations: every half, every error, every way to call it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gemlite_edu.numbers.activations import (
    quantize_activations_int8,
    scale_activations_fp8,
    scale_activations_int8,
)
from gemlite_lab.lesson.real_layer import LAYERS, real_layer

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
FLOATS = (torch.float16, torch.bfloat16, torch.float32)
LARGEST = {torch.int8: 127, E4M3: 448, E5M2: 57344}
STEPS = {E4M3: (2**-4, 2**-10), E5M2: (2**-3, 2**-17)}  # relative, of scale: half of each
TINY = 2.0**-126

formats = pytest.mark.parametrize("dtype", LARGEST)
floats = pytest.mark.parametrize("x_dtype", FLOATS)


def scaled(x, dtype):
    if dtype == torch.int8:
        return scale_activations_int8(x)
    return scale_activations_fp8(x, dtype)


def allowed(x, scales, dtype):
    """How far x_q s may be from x, as the docstrings say."""
    size = x.double().abs()
    if dtype == torch.int8:
        return scales.double() / 2 + 2.0**-24 * size
    relative, step = STEPS[dtype]
    return torch.maximum(relative * size, step * scales.double()) + 2.0**-24 * size


def assert_close(x, x_q, scales, dtype):
    """x (M, K), all finite."""
    assert (x_q.dtype, scales.dtype) == (dtype, torch.float32)
    assert (x_q.shape, scales.shape) == (x.shape, (len(x), 1))
    assert x_q.is_contiguous() and scales.is_contiguous()
    assert (scales > 0).all() and scales.isfinite().all()
    codes = x_q.double()
    assert (codes.abs() <= LARGEST[dtype]).all()
    error = (codes * scales.double() - x.double()).abs()
    assert (error <= allowed(x, scales, dtype)).all()


def every_16_bit_number(x_dtype, shuffled):
    """Every finite number of a 16-bit type, (M, 256): its rows in order of size, or at random."""
    numbers = torch.arange(2**16).to(torch.int16).view(x_dtype)
    numbers = numbers[numbers.isfinite()]
    if shuffled:
        order = torch.randperm(len(numbers), generator=torch.Generator().manual_seed(0))
    else:
        order = numbers.float().abs().argsort()
    return numbers[order].reshape(-1, 256)


@formats
@pytest.mark.parametrize("shuffled", [False, True], ids=["by_size", "shuffled"])
@pytest.mark.parametrize("x_dtype", FLOATS[:2])
def test_every_16_bit_number(x_dtype, shuffled, dtype):
    x = every_16_bit_number(x_dtype, shuffled)
    assert_close(x, *scaled(x, dtype), dtype)


@formats
@pytest.mark.parametrize("name", LAYERS)
def test_real_activations(name, dtype):
    x = real_layer(name).activations
    x_q, scales = scaled(x, dtype)
    assert_close(x, x_q, scales, dtype)
    assert (x_q.double().abs().amax(1) == LARGEST[dtype]).all()  # the whole range is used
    assert torch.equal(scales, x.float().abs().amax(1, keepdim=True) / LARGEST[dtype])


@formats
@floats
def test_signs_and_the_largest_number(x_dtype, dtype):
    largest = torch.finfo(x_dtype).max
    x = torch.tensor([[largest, -largest, 0.0], [-largest, largest / 2, 1.0]], dtype=x_dtype)
    x_q, scales = scaled(x, dtype)
    assert_close(x, x_q, scales, dtype)
    top = LARGEST[dtype]
    assert x_q.double()[0].tolist() == [top, -top, 0] and x_q.double()[1, 0] == -top


@formats
@floats
def test_a_token_of_zeros_has_scale_1(x_dtype, dtype):
    x = torch.tensor([[0.0, 0.0], [0.0, -0.0], [3.0, 0.0]], dtype=x_dtype)
    x_q, scales = scaled(x, dtype)
    assert scales[:2].tolist() == [[1.0], [1.0]]
    assert (x_q[:2].double() == 0).all() and x_q[2].double().tolist() == [LARGEST[dtype], 0]


@formats
@pytest.mark.parametrize("x_dtype", FLOATS)
def test_the_smallest_numbers(x_dtype, dtype):
    smallest = torch.finfo(x_dtype).smallest_normal * torch.finfo(x_dtype).eps  # subnormal
    x = (torch.tensor([[1.0, -2, 3], [190, -1, 64], [1, 0, 0]]) * smallest).to(x_dtype)
    assert (x != 0).sum() == 7
    x_q, scales = scaled(x, dtype)
    assert_close(x, x_q, scales, dtype)
    assert (scales >= TINY).all()
    if x_dtype == torch.float16:  # far above the smallest scale: the whole range is used
        assert x_q[:, 0].double().tolist()[1:] == [LARGEST[dtype]] * 2


def test_ties_go_to_the_even_code():
    x = torch.tensor([[127.0, 0.5, 1.5, 2.5, -0.5, -1.5, 126.5]])
    assert scale_activations_int8(x)[0].tolist() == [[127, 0, 2, 2, 0, -2, 126]]
    x = torch.tensor([[448.0, 17.0, 19.0, -17.0, 21.0]])  # e4m3 has 16, 18, 20, 22
    assert scale_activations_fp8(x)[0].tolist() == [[448, 16, 20, -16, 20]]


def test_every_code_of_int8_but_one_comes_back_to_itself():
    codes = torch.arange(-127, 128)
    for exponent in (-100, -3, 0, 7, 100):
        x_q, scales = scale_activations_int8(codes.float()[None] * 2.0**exponent)
        assert x_q.tolist() == [codes.tolist()] and scales.item() == 2.0**exponent


@pytest.mark.parametrize("dtype", STEPS)
def test_every_number_of_fp8_comes_back_to_itself(dtype):
    numbers = torch.arange(256).to(torch.uint8).view(dtype).float()
    numbers = numbers[numbers.isfinite()][None]
    for exponent in (-90, -3, 0, 7, 90):
        x_q, scales = scale_activations_fp8(numbers * 2.0**exponent, dtype)
        assert torch.equal(x_q.float(), numbers) and scales.item() == 2.0**exponent


@formats
@floats
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_nan_or_an_infinity_makes_its_token_nan_and_no_other(bad, x_dtype, dtype):
    x = torch.tensor([[1.0, -2.0, 0.5], [1.0, bad, 0.0], [0.0, 4.0, 1.0]], dtype=x_dtype)
    x_q, scales = scaled(x, dtype)
    back = x_q.float() * scales
    assert back[1].isnan().all() and not scales[1].isfinite()
    assert torch.equal(x_q[1].float(), torch.zeros(3)) or dtype != torch.int8
    assert_close(x[::2], x_q[::2].contiguous(), scales[::2].contiguous(), dtype)
    sums = (x_q.float() @ torch.ones(3, 2)) * scales
    assert sums.isnan().all(1).tolist() == [False, True, False]


@formats
@pytest.mark.parametrize(
    "shape, M", [((5,), 1), ((3, 5), 3), ((2, 3, 5), 6), ((2, 1, 4, 1), 8), ((0, 5), 0)]
)
def test_leading_axes_are_tokens(shape, M, dtype):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    x_q, scales = scaled(x, dtype)
    assert (x_q.shape, scales.shape) == (x.shape, (M, 1))
    assert_close(x.reshape(M, shape[-1]), x_q.reshape(M, shape[-1]), scales, dtype)


@formats
def test_a_tensor_that_is_not_contiguous(dtype):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(2))
    for view in (x.T, x[:, ::2], x[::2], x.reshape(2, 3, 4).transpose(0, 1)):
        x_q, scales = scaled(view, dtype)
        expected, same_scales = scaled(view.contiguous(), dtype)
        assert x_q.is_contiguous() and torch.equal(scales, same_scales)
        assert torch.equal(x_q.float(), expected.float())


@formats
def test_the_input_stays_and_no_gradient_passes(dtype):
    x = torch.tensor([[1.0, -3.0]], requires_grad=True)
    x_q, scales = scaled(x, dtype)
    assert x.tolist() == [[1.0, -3.0]]
    assert not x_q.requires_grad and not scales.requires_grad


@formats
@floats
def test_meta_tensors(x_dtype, dtype):
    x_q, scales = scaled(torch.empty(2, 3, 8, dtype=x_dtype, device="meta"), dtype)
    assert (x_q.shape, x_q.dtype, x_q.device.type) == ((2, 3, 8), dtype, "meta")
    assert (scales.shape, scales.dtype, scales.device.type) == ((6, 1), torch.float32, "meta")


@formats
@floats
def test_torch_compile_takes_it_whole(x_dtype, dtype):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: scaled(x, dtype), fullgraph=True, backend="aot_eager")
    for shape in ((3, 16), (5, 16), (2, 3, 16)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(3)).to(x_dtype)
        for mine, right in zip(compiled(x), scaled(x, dtype), strict=True):
            assert mine.dtype == right.dtype and torch.equal(mine.float(), right.float())


def test_torch_compile_into_one_kernel():
    """As CPU code, in which a division may be off by its last bit."""
    x = real_layer("ffn_up").activations[:5]
    compiled = torch.compile(lambda x: [scaled(x, dtype) for dtype in LARGEST], fullgraph=True)
    for dtype, (x_q, scales) in zip(LARGEST, compiled(x), strict=True):
        assert_close(x, x_q, scales, dtype)
        torch.testing.assert_close(scales, scaled(x, dtype)[1], rtol=1e-6, atol=0)


@given(
    st.lists(
        st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(list(LARGEST)),
)
@settings(max_examples=200, deadline=None)
def test_any_numbers(rows, dtype):
    x = torch.tensor(rows)
    x_q, scales = scaled(x, dtype)
    assert_close(x, x_q, scales, dtype)
    reach = x.abs().amax(1)
    right = (reach.double() / LARGEST[dtype]).clamp(min=TINY).where(reach > 0, 1.0)
    torch.testing.assert_close(scales[:, 0].double(), right, rtol=2.0**-24, atol=0)
    for row, (own, scale) in enumerate(zip(x_q, scales, strict=True)):  # a token, not the tensor
        alone = scaled(x[row], dtype)
        assert torch.equal(alone[0].float(), own.float()) and alone[1].item() == scale.item()


BAD_INPUTS = pytest.mark.parametrize(
    "x, error, sentence",
    [
        (torch.ones(2, 2).double(), TypeError, "got torch.float64 tensor"),
        (torch.ones(2, 2).int(), TypeError, "got torch.int32 tensor"),
        (torch.ones(2, 2).to(E4M3), TypeError, "got torch.float8_e4m3fn tensor"),
        ([1.0], TypeError, "got list"),
        (torch.tensor(1.0), ValueError, r"must have shape \(..., K\) with K >= 1, got \(\)"),
        (torch.ones(2, 0), ValueError, r"got \(2, 0\)"),
    ],
    ids=["float64", "int32", "fp8", "list", "number", "no_k"],
)


@formats
@BAD_INPUTS
def test_bad_input_gives_one_sentence(x, error, sentence, dtype):
    with pytest.raises(error, match=sentence) as caught:
        scaled(x, dtype)
    assert "\n" not in str(caught.value)


def test_only_the_two_fp8_types():
    for dtype in (torch.int8, torch.float16, torch.float8_e4m3fnuz, "fp8"):
        with pytest.raises(TypeError, match="dtype must be torch.float8_e4m3fn or torch.float8_e5"):
            scale_activations_fp8(torch.ones(1, 1), dtype)


# As BitNet makes them


def as_bitnet(x):
    """(codes, 1 / s) of x (M, K) in float32, as microsoft/BitNet's gpu/model.py writes it."""
    x = x.float()
    s = 127 / x.abs().max(dim=-1, keepdim=True).values.clamp_(min=1e-5)
    return (x * s).round().clamp(-128, 127).to(torch.int8), 1 / s


def assert_bitnets(x):
    x_q, token_scales = quantize_activations_int8(x)
    codes, expected = as_bitnet(x.reshape(-1, x.shape[-1]))
    assert (x_q.dtype, x_q.shape) == (torch.int8, x.shape) and x_q.is_contiguous()
    assert (token_scales.dtype, token_scales.is_contiguous()) == (torch.float32, True)
    assert torch.equal(x_q.reshape(codes.shape), codes) and torch.equal(token_scales, expected)


@pytest.mark.parametrize("shuffled", [False, True], ids=["by_size", "shuffled"])
@pytest.mark.parametrize("x_dtype", FLOATS[:2])
def test_every_16_bit_number_becomes_what_bitnet_makes_of_it(x_dtype, shuffled):
    assert_bitnets(every_16_bit_number(x_dtype, shuffled))


@pytest.mark.parametrize("name", LAYERS)
def test_real_activations_become_what_bitnet_makes_of_them(name):
    x = real_layer(name).activations
    assert_bitnets(x)
    x_q, token_scales = quantize_activations_int8(x)
    assert (x_q.double().abs().amax(1) == 127).all()
    error = (x_q.double() * token_scales.double() - x.double()).abs()
    assert (error <= token_scales / 2 + 2.0**-22 * x.double().abs()).all()


@given(
    st.lists(
        st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=200, deadline=None)
def test_any_numbers_become_what_bitnet_makes_of_them(rows):
    x = torch.tensor(rows)
    assert_bitnets(x)
    for token, codes in zip(x, quantize_activations_int8(x)[0], strict=True):
        assert torch.equal(quantize_activations_int8(token)[0], codes)


@floats
def test_bitnets_codes_of_small_tokens_and_of_zeros(x_dtype):
    """What is below 1e-5 has fewer steps, and the scale of 1e-5."""
    x = torch.tensor([[0.0, -0.0], [4e-6, -1e-6], [1e-3, 0.0]], dtype=x_dtype)
    x_q, token_scales = quantize_activations_int8(x)
    assert x_q[0].tolist() == [0, 0] and x_q[2].tolist() == [127, 0]
    assert x_q[1].tolist() == [round(float(v) * 127e5) for v in x[1]]
    assert torch.equal(token_scales[0], token_scales[1])
    torch.testing.assert_close(token_scales[0].item(), 1e-5 / 127, rtol=1e-6, atol=0)


def test_bitnets_ties_go_to_the_even_code():
    x = torch.tensor([[127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -127.0]])
    x_q, token_scales = quantize_activations_int8(x)
    assert x_q.tolist() == [[127, 0, 2, 2, 0, -2, -127]] and token_scales.item() == 1


@floats
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_nan_or_an_infinity_loses_its_token_of_bitnet_and_no_other(bad, x_dtype):
    x = torch.tensor([[1.0, -2.0, 0.5], [1.0, bad, 0.0], [0.0, 4.0, 1.0]], dtype=x_dtype)
    x_q, token_scales = quantize_activations_int8(x)
    assert x_q[1].tolist() == [0, 0, 0] and not token_scales[1].isfinite()
    assert (x_q.float() * token_scales)[1].isnan().all()
    codes, expected = as_bitnet(x[::2])
    assert torch.equal(x_q[::2], codes) and torch.equal(token_scales[::2], expected)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (2, 1, 4, 1), (0, 5)])
def test_leading_axes_are_tokens_of_bitnet(shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    assert_bitnets(x)


def test_bitnets_codes_of_a_tensor_that_is_not_contiguous():
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(2), requires_grad=True)
    for view in (x.T, x[:, ::2], x[::2], x.reshape(2, 3, 4).transpose(0, 1)):
        assert_bitnets(view.detach())
        assert not any(tensor.requires_grad for tensor in quantize_activations_int8(view))


@floats
def test_bitnets_codes_on_meta_and_under_torch_compile(x_dtype):
    torch._dynamo.reset()
    compiled = torch.compile(quantize_activations_int8, fullgraph=True, backend="aot_eager")
    for shape in ((3, 16), (5, 16), (2, 3, 16)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(3)).to(x_dtype)
        right = quantize_activations_int8(x)
        assert all(map(torch.equal, compiled(x), right))
        for found, expected in zip(quantize_activations_int8(x.to("meta")), right, strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            assert found.is_meta


@BAD_INPUTS
def test_bad_input_of_bitnets_codes_gives_one_sentence(x, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        quantize_activations_int8(x)
    assert "\n" not in str(caught.value)
