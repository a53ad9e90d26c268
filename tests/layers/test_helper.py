"""GemLite's helpers: from a layer of torch or of hqq to a GemLiteLinear."""

import copy
from types import SimpleNamespace

import pytest
import torch
from linear_cases import activations

from gemlite_edu import helper
from gemlite_edu.core import DType, GemLiteLinear
from gemlite_edu.helper import A16W8, A8W8_fp8_dynamic, A8W8_int8_dynamic, A8Wn_dynamic, A16Wn
from gemlite_edu.numbers import bounds, reference
from gemlite_edu.numbers.bounds import TRUNCATION

N, K = 20, 128
FROM_LINEAR = (A16W8, A8W8_int8_dynamic, A8W8_fp8_dynamic)
E4M3 = torch.float8_e4m3fn

USAGE = """
from gemlite_edu.helper import *

gemlite_linear = A16W8(device='cpu').from_linear(linear_layer)
gemlite_linear = A8W8_int8_dynamic(device='cpu').from_linear(linear_layer)
gemlite_linear = A8W8_fp8_dynamic(device='cpu').from_linear(linear_layer)

gemlite_linear = A16Wn(device='cpu').from_hqqlinear(hqqlinear_layer)
gemlite_linear = A8Wn_dynamic(device='cpu').from_hqqlinear(hqqlinear_layer)
"""


def linear(dtype=torch.float32, bias=True, N=N, K=K):
    torch.manual_seed(0)
    layer = torch.nn.Linear(K, N, bias=bias).to(dtype)
    with torch.no_grad():
        layer.weight *= 2.0 ** torch.arange(-5, N - 5).clamp(max=3)[:, None].to(dtype)
    return layer


def product(layer, x):
    """The layer in fp64."""
    y = reference.matmul(x, layer.weight)
    return y if layer.bias is None else y + layer.bias.detach().double()


def assert_near(y, exact, reach, off, bias):
    """y is off by no more than its operands, its sums, its bias of y's type, and its own rounding.

    off: what operands that are off may do to a sum; reach: the sum of its |products|.
    """
    v, t = bounds.OUTPUT_ROUNDOFF[y.dtype], bounds.SMALLEST_STEP[y.dtype]
    bias = 0 if bias is None else bias.detach().double().abs()
    error = off + 2 * K * TRUNCATION * (reach + off + 2 * bias) + v * bias + t
    assert ((y.double() - exact).abs() <= error + v * (exact.abs() + error)).all()


class FakeHQQ(torch.nn.Module):
    """What `A16Wn` needs of hqq's HQQLinear, with codes in bytes."""

    def __init__(self, nbits=4, group_size=64, dtype=torch.float16, bias=True, N=N, K=K, **meta):
        super().__init__()
        generator = torch.Generator().manual_seed(nbits if isinstance(nbits, int) else 2)
        group, top = group_size or K, 2 if nbits == 1.58 else 2**nbits - 1
        draw = torch.randint(0, top + 1, (N * K // group, group), generator=generator)
        self.W_q = torch.nn.Parameter(draw.to(torch.uint8), requires_grad=False)
        count = N * K // group, 1
        self.meta = {
            "nbits": nbits,
            "group_size": group_size,
            "shape": torch.Size([N, K]),
            "axis": 1,
            "scale": (torch.rand(count, generator=generator) * 0.1 + 0.01).to(dtype),
            "zero": (torch.rand(count, generator=generator) * top).to(dtype),
            "view_as_float": False,
        } | meta
        own = torch.randn(N, generator=generator).to(dtype)
        self.bias = torch.nn.Parameter(own, requires_grad=False) if bias else None

    def unpack(self, reshape=False, dtype=None):
        """Codes (N * groups, group_size), as hqq gives them."""
        return self.W_q.to(dtype or self.meta["scale"].dtype)

    def dequantize(self):
        """W (N, K), fp64."""
        codes = self.W_q.double() - self.meta["zero"].double()
        return (codes * self.meta["scale"].double()).reshape(self.meta["shape"])


def test_the_helpers_of_the_seed_run():
    names = {"linear_layer": linear(), "hqqlinear_layer": FakeHQQ()}
    exec(USAGE, names)
    assert isinstance(names["gemlite_linear"], GemLiteLinear)


def test_the_star_brings_the_helpers_and_nothing_else():
    names = {}
    exec("from gemlite_edu.helper import *", names)
    names.pop("__builtins__")
    layers = {*(h.__name__ for h in FROM_LINEAR), "A16Wn", "A8Wn_dynamic"}
    assert set(names) == layers | {"patch_model"}
    assert set(helper.__all__) == set(names)


# From torch.nn.Linear


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a16w8_is_within_half_a_step(dtype, bias):
    """A weight is off by half a step and its rounding, a sum by that times |x|."""
    source = linear(dtype, bias)
    layer = A16W8(device="cpu").from_linear(source)
    expected = torch.float16 if dtype == torch.float32 else dtype
    x = activations(3, K, expected)
    y = layer(x)
    assert y.dtype == expected and y.shape == (3, N)
    W, x_abs = source.weight.detach().double(), x.double().abs()
    off = W.abs().amax(1, keepdim=True) / 127 / 2 + 2.0**-22 * W.abs()
    reach = reference.matmul(x_abs, W.abs())
    assert_near(y, product(source, x), reach, reference.matmul(x_abs, off), source.bias)


@pytest.mark.parametrize("make", [A8W8_int8_dynamic, A8W8_fp8_dynamic])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_8_bits_of_both_are_within_the_steps_of_both(make, dtype):
    source = linear(dtype)
    layer = make(device="cpu").from_linear(source)
    expected = torch.float16 if dtype == torch.float32 else dtype
    x = activations(3, K, expected) * torch.tensor([[100.0], [1.0], [1e-3]]).to(expected)
    y = layer(x)
    assert y.dtype == expected
    off = []
    for tensor in (source.weight.detach().double(), x.double()):
        largest = tensor.abs().amax(1, keepdim=True)
        if make is A8W8_int8_dynamic:
            off.append(largest / 127 / 2 + 2.0**-22 * tensor.abs())
        else:
            off.append((tensor.abs() / 16).maximum(largest / 448 / 2**10) * (1 + 2.0**-20))
    off_W, off_x = off
    W, x_abs = source.weight.detach().double().abs(), x.double().abs()
    off = reference.matmul(x_abs, off_W) + reference.matmul(off_x, W + off_W)
    assert_near(y, product(source, x), reference.matmul(x_abs, W), off, source.bias)


@pytest.mark.parametrize("make", FROM_LINEAR)
def test_what_the_layer_is(make):
    layer = make(device="cpu").from_linear(linear(torch.bfloat16))
    is_dynamic = make is not A16W8
    types = {A16W8: DType.BF16, A8W8_int8_dynamic: DType.INT8, A8W8_fp8_dynamic: DType.FP8}
    assert (layer.W_nbits, layer.group_size) == (8, None)
    assert (layer.in_features, layer.out_features) == (K, N)
    assert layer.input_dtype == types[make] and layer.output_dtype == DType.BF16
    assert layer.scaled_activations == is_dynamic
    assert layer.W_q.dtype == (E4M3 if make is A8W8_fp8_dynamic else torch.int8)
    scales = "its channel n and its token m" if is_dynamic else "its channel n"
    assert scales in layer.explain(3)
    assert not any(parameter.requires_grad for parameter in layer.parameters())


@pytest.mark.parametrize("make", FROM_LINEAR)
def test_the_source_stays_as_it_is_and_shares_nothing(make):
    source = linear(torch.float16)
    before = copy.deepcopy(source.state_dict())
    layer, x = make(device="cpu").from_linear(source), activations(2, K)
    y = layer(x)
    assert all(torch.equal(source.state_dict()[name], before[name]) for name in before)
    assert source.weight.requires_grad
    with torch.no_grad():
        source.weight.zero_()
        source.bias.fill_(100)
    assert torch.equal(layer(x), y)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("make", FROM_LINEAR)
def test_rows_of_zeros_and_of_tiny_weights(make):
    source = linear(bias=False)
    with torch.no_grad():
        source.weight[3] = 0
        source.weight[4] = 1e-40
        source.weight[5] = 3e38
    layer = make(device="cpu").from_linear(source)
    y = layer(activations(2, K))
    assert (y[:, 3] == 0).all() and (y[:, 4] == 0).all()
    assert not y[:, :5].isnan().any() and y[:, 5].isinf().all()


@pytest.mark.parametrize("make", FROM_LINEAR)
def test_codes_use_all_of_their_type(make):
    """The largest |w| of a row is the largest number of the type, and none is clipped below it."""
    source = linear(bias=False)
    layer = make(device="cpu").from_linear(source)
    eye = torch.eye(K).half()
    W = (
        layer(eye).T
        if make is A16W8
        else layer(eye * (127 if make is A8W8_int8_dynamic else 448)).T
    )
    factor = {A16W8: 1, A8W8_int8_dynamic: 127, A8W8_fp8_dynamic: 448}[make]
    largest = source.weight.detach().abs().argmax(1)
    own, theirs = (w[torch.arange(N), largest].float() for w in (W / factor, source.weight))
    torch.testing.assert_close(own, theirs, rtol=2**-9, atol=1e-6)


@pytest.mark.parametrize("make", FROM_LINEAR)
def test_the_type_of_x_and_y_can_be_chosen(make):
    for own, chosen in ((torch.float32, torch.bfloat16), (torch.bfloat16, torch.float16)):
        layer = make(device="cpu", dtype=chosen).from_linear(linear(own))
        y = layer(activations(2, K, chosen))
        assert y.dtype == chosen


def test_a_subclass_of_linear_and_a_double_one():
    class Mine(torch.nn.Linear):
        pass

    for source in (Mine(K, N), torch.nn.Linear(K, N).double()):
        y = A16W8(device="cpu").from_linear(source)(activations(2, K))
        assert y.dtype == torch.float16
        error = (y.double() - product(source, activations(2, K))).norm()
        assert error <= 0.02 * product(source, activations(2, K)).norm()


@pytest.mark.parametrize("make", FROM_LINEAR)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_weight_that_is_no_number_is_refused(make, value):
    source = linear()
    with torch.no_grad():
        source.weight[2, 3] = value
    with pytest.raises(ValueError, match="NaN or infinite") as refused:
        make(device="cpu").from_linear(source)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("source", [None, 3, torch.ones(3, 4), torch.nn.ReLU(), torch.nn.Linear])
def test_only_linear_layers_are_taken(source):
    with pytest.raises(TypeError, match="from_linear takes a torch.nn.Linear, got ") as refused:
        A16W8(device="cpu").from_linear(source)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("source", [torch.nn.Linear(K, N, device="meta"), torch.nn.LazyLinear(N)])
def test_a_layer_without_numbers_gets_one_sentence(source):
    with pytest.raises((TypeError, ValueError)) as refused:
        A16W8(device="cpu").from_linear(source)
    assert "\n" not in str(refused.value)


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_a_layer_without_columns_gets_one_sentence():
    with pytest.raises((TypeError, ValueError)) as refused:
        A16W8(device="cpu").from_linear(torch.nn.Linear(0, N))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("make", [*FROM_LINEAR, A16Wn, A8Wn_dynamic])
@pytest.mark.parametrize("dtype", [torch.float32, "float16", DType.FP16, 16])
def test_other_types_are_refused_at_once(make, dtype):
    with pytest.raises((TypeError, ValueError), match="dtype must be torch.float16 or") as refused:
        make(device="cpu", dtype=dtype)
    assert "\n" not in str(refused.value)


def test_what_is_made_can_be_saved():
    for make in FROM_LINEAR:
        layer, other = make(device="cpu").from_linear(linear()), GemLiteLinear()
        other.load_state_dict(layer.state_dict())
        assert torch.equal(other(activations(2, K)), layer(activations(2, K)))


# From hqq


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("nbits, group_size", [(4, 64), (8, 32), (3, 64), (2, 16), (1, None)])
def test_codes_of_hqq_are_taken_as_they_are(nbits, group_size, dtype):
    source = FakeHQQ(nbits, group_size, dtype, bias=nbits != 8)
    layer = A16Wn(device="cpu").from_hqqlinear(source)
    expected = torch.float16 if dtype == torch.float32 else dtype
    x, W = activations(3, K, expected), source.dequantize()
    y = layer(x)
    exact = reference.matmul(x, W)
    if source.bias is not None:
        exact += source.bias.double()
    top, scales = 2**nbits - 1, source.meta["scale"].double().max()
    reach = x.double().abs().sum(1, keepdim=True) * 2 * top * scales
    assert y.dtype == expected
    assert_near(y, exact, reach, 0, source.bias)
    assert (layer.W_nbits, layer.group_size) == (nbits, group_size or K)


def test_8_bits_of_x_for_codes_of_hqq():
    source = FakeHQQ()
    layer = A8Wn_dynamic(device="cpu").from_hqqlinear(source)
    assert layer.input_dtype == DType.FP8 and layer.scaled_activations
    x = activations(3, K)
    exact = reference.matmul(x, source.dequantize()) + source.bias.double()
    off = (x.double().abs() / 16).maximum(x.double().abs().amax(1, keepdim=True) / 448 / 2**10)
    limit = reference.matmul(off, source.dequantize().abs()) + 2.0**-9 * exact.abs() + 0.01
    assert ((layer(x).double() - exact).abs() <= limit).all()


@pytest.mark.parametrize("nbits", [5, 6])
def test_codes_that_hqq_keeps_in_bytes_are_bytes(nbits):
    source = FakeHQQ(nbits, 64)
    layer = A16Wn(device="cpu").from_hqqlinear(source)
    x = activations(2, K)
    exact = reference.matmul(x, source.dequantize()) + source.bias.double()
    assert layer.W_nbits == 8
    torch.testing.assert_close(layer(x).double(), exact, rtol=2**-9, atol=2**-5)


def test_1_58_bits_of_hqq_are_two():
    source = FakeHQQ(1.58, 64)
    layer = A16Wn(device="cpu").from_hqqlinear(source)
    x = activations(2, K)
    exact = reference.matmul(x, source.dequantize()) + source.bias.double()
    assert layer.W_nbits == 2
    torch.testing.assert_close(layer(x).double(), exact, rtol=2**-9, atol=2**-7)


def test_rows_that_hqq_padded_are_left_out():
    """3-bit codes come in tens; hqq gives a few rows too many."""
    source = FakeHQQ(3, 64)
    expected = A16Wn(device="cpu").from_hqqlinear(source).state_dict()
    rows = torch.full((2, 64), 7, dtype=torch.uint8)
    source.W_q = torch.nn.Parameter(torch.cat([source.W_q, rows]), requires_grad=False)
    found = A16Wn(device="cpu").from_hqqlinear(source).state_dict()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_the_hqq_layer_stays_as_it_is_and_shares_nothing():
    source = FakeHQQ()
    before = copy.deepcopy(source)
    layer, x = A16Wn(device="cpu").from_hqqlinear(source), activations(2, K)
    y = layer(x)
    for name in ("scale", "zero"):
        assert torch.equal(source.meta[name], before.meta[name])
        source.meta[name].zero_()
    assert torch.equal(source.W_q, before.W_q) and torch.equal(source.bias, before.bias)
    source.bias.data.fill_(9)
    assert torch.equal(layer(x), y)


def test_a_layer_without_bias_attribute_is_taken():
    source = FakeHQQ(bias=False)
    bare = SimpleNamespace(meta=source.meta, unpack=source.unpack, W_q=source.W_q)
    found = A16Wn(device="cpu").from_hqqlinear(bare)
    assert found.bias is None


def test_codes_that_hqq_left_unpacked_are_taken_as_they_are():
    """Its bitpack=False, which torchao's test asks for: `unpack` gives nothing."""
    packed, source = FakeHQQ(), FakeHQQ(packing=None)
    source.W_q = torch.nn.Parameter(source.W_q.half(), requires_grad=False)
    source.unpack = lambda dtype=None: None
    x = activations(2, K)
    make = A16Wn(device="cpu").from_hqqlinear
    assert torch.equal(make(source)(x), make(packed)(x))


def without(name):
    source = FakeHQQ()
    del source.meta[name]
    return source


def with_unpack(unpack):
    source = FakeHQQ()
    source.unpack = unpack
    return source


REFUSED = {
    "nothing": (lambda: None, "HQQLinear"),
    "a linear layer": (lambda: torch.nn.Linear(K, N), "HQQLinear"),
    "meta is None": (lambda: SimpleNamespace(meta=None, unpack=print), "HQQLinear"),
    "no unpack": (lambda: SimpleNamespace(meta=FakeHQQ().meta), "HQQLinear"),
    "axis 0": (lambda: FakeHQQ(axis=0), "axis"),
    "no axis": (lambda: without("axis"), "axis"),
    "no scale": (lambda: without("scale"), "scale"),
    "no zero": (lambda: without("zero"), "scale|zero"),
    "no shape": (lambda: without("shape"), "shape|HQQ"),
    "no nbits": (lambda: without("nbits"), "nbits|HQQ"),
    "floats": (lambda: FakeHQQ(view_as_float=True), "view_as_float=False"),
    "groups over rows": (lambda: FakeHQQ(4, 64, N=64, K=96), "group_size = 64 does not divide"),
    "nothing unpacked": (lambda: with_unpack(lambda dtype=None: None), "HQQ|unpack"),
    "too few codes": (
        lambda: with_unpack(lambda dtype=None: torch.zeros(3, 64, dtype=torch.uint8)),
        "HQQ|codes|unpack",
    ),
    "too few scales": (lambda: FakeHQQ(scale=torch.ones(3, 1)), "HQQ|scale"),
}


@pytest.mark.parametrize("make", [A16Wn, A8Wn_dynamic])
@pytest.mark.parametrize("name", REFUSED)
def test_an_hqq_layer_that_cannot_be_taken_gets_one_sentence(name, make):
    source, sentence = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=sentence) as refused:
        make(device="cpu").from_hqqlinear(source())
    assert "\n" not in str(refused.value) and len(str(refused.value)) > 15


@pytest.mark.parametrize("nbits", [8, 4, 3, 2, 1])
def test_layers_of_the_real_hqq(nbits):
    quantize = pytest.importorskip("hqq.core.quantize")
    source = linear(K=256, N=96)
    expected_bias = source.bias.detach().clone()
    config = quantize.BaseQuantizeConfig(nbits=nbits, group_size=64, axis=1)
    hqq = quantize.HQQLinear(source, config, compute_dtype=torch.float16, device="cpu")
    layer = A16Wn(device="cpu").from_hqqlinear(hqq)
    meta = hqq.meta
    codes = hqq.unpack(dtype=torch.uint8).flatten()[: 96 * 256].reshape(-1, 64).double()
    W = ((codes - meta["zero"].double()) * meta["scale"].double()).reshape(96, 256)
    torch.testing.assert_close(W, hqq.dequantize().double(), rtol=2**-8, atol=2**-8)
    x = activations(2, 256)
    exact = reference.matmul(x, W) + expected_bias
    limit = 2.0**-10 * (reference.matmul(x.abs(), W.abs()) + expected_bias.abs())
    assert ((layer(x).double() - exact).abs() <= limit + 2.0**-20).all()
