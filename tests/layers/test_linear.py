"""GemLiteLinear against its contract: GemLite's calls, and what a layer of torch has to bear."""

import copy
import io
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import torch
from linear_cases import activations, make
from safetensors.torch import load_file, save_file

from gemlite_edu import quantize_linear
from gemlite_edu.core import DType, GemLiteLinear
from gemlite_edu.layers import gemlite_linear as linear_module
from gemlite_edu.numbers import reference
from gemlite_edu.numbers.activations import scale_activations_fp8, scale_activations_int8
from gemlite_edu.operators import linear_op
from gemlite_edu.operators.choose import MATMUL_TYPES, Problem
from gemlite_edu.operators.pack import TENSORS
from gemlite_edu.packing.rows_cols import pack_over_cols, pack_over_rows

N, K = 20, 128
CODES = torch.randint(0, 16, (N, K), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
KERNELS = ("GEMV", "GEMV_REVSPLITK", "GEMM_SPLITK", "GEMM")


@pytest.fixture(autouse=True)
def quiet_numpy():
    """Triton's interpreter computes with NaN and infinities where a test has some."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="triton")
        yield


@pytest.fixture
def problem():
    return make(4, 64, bias=torch.float16)


@pytest.fixture
def layer(problem):
    return problem.layer


@pytest.fixture
def x():
    return activations(3, K)


def same(first, second):
    """Whether two tensors are equal bit for bit where == cannot tell: NaN equals NaN."""
    return first.dtype == second.dtype and torch.equal(
        first.nan_to_num(nan=12345.0), second.nan_to_num(nan=12345.0)
    )


def same_state(first, second):
    first, second = first.state_dict(), second.state_dict()
    return first.keys() == second.keys() and all(
        first[name].dtype == second[name].dtype and torch.equal(first[name], second[name])
        for name in first
    )


# The seed's own words


USAGE = """
from gemlite_edu.core import DType, GemLiteLinear

gemlite_linear = GemLiteLinear(
    W_nbits,
    group_size=group_size,
    in_features=in_features,
    out_features=out_features,
    input_dtype=DType.FP16,
    output_dtype=DType.FP16,
    scaled_activations=False,
)

gemlite_linear.pack(W_q, scales, zeros, bias)

out = gemlite_linear(x)
"""
CACHING = """
GemLiteLinear.cache_config('a100_config.json')
GemLiteLinear.load_config('a100_config.json')
"""


@pytest.mark.parametrize("W_nbits", [8, 4, 2, 1])
def test_the_usage_of_the_seed_runs(W_nbits, x):
    q = quantize_linear(torch.randn(N, K), W_nbits, group_size=32)
    names = dict(W_nbits=W_nbits, group_size=32, in_features=K, out_features=N, x=x, W_q=q.W_q)
    names |= dict(scales=q.scales.half(), zeros=q.zeros.half(), bias=torch.ones(N).half())
    exec(USAGE, names)
    W = (q.W_q.double().reshape(N, -1, 32) - q.zeros[..., None]) * q.scales.half()[..., None]
    expected = reference.matmul(x, W.reshape(N, K)) + 1
    torch.testing.assert_close(names["out"].double(), expected, rtol=2**-10, atol=2**-8)


def test_the_caching_of_the_seed_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(CACHING, {"GemLiteLinear": GemLiteLinear})
    assert [path.name for path in tmp_path.iterdir()] == ["a100_config.json"]
    assert capsys.readouterr().out == ""


# Numbers


PROBLEMS = {
    "W4 g64 fp16 bias": dict(nbits=4, group_size=64, bias=torch.float16),
    "W4 g48 padded": dict(nbits=4, group_size=48, K=144, y=DType.FP32),
    "W8 g32 bf16": dict(nbits=8, group_size=32, x=DType.BF16, y=DType.BF16, bias=torch.float32),
    "W2 g16 fma": dict(nbits=2, group_size=16, y=DType.FP32, fma_mode=True),
    "W1 channel": dict(nbits=1, K=100, bias=torch.float32),
    "W3 g32 bf16 fp16": dict(nbits=3, group_size=32, x=DType.BF16, word_bits=32),
    "W3 channel": dict(nbits=3, K=75, y=DType.FP32, word_bits=32),
    "W4 without zeros": dict(nbits=4, group_size=32, zeros=False, y=DType.BF16),
    "W4 without scales": dict(nbits=4, group_size=32, scales=False, y=DType.FP32),
    "W2 codes alone": dict(nbits=2, scales=False, zeros=False, y=DType.FP32),
    "W4 fp8 out": dict(nbits=4, group_size=64, y=DType.FP8),
    "W4 fp8e5 out": dict(nbits=4, y=DType.FP8e5),
    "W4 fp8": dict(nbits=4, group_size=32, x=DType.FP8, bias=torch.bfloat16),
    "W2 fp8e5": dict(nbits=2, group_size=64, x=DType.FP8e5, y=DType.BF16),
    "W8 int8": dict(nbits=8, x=DType.INT8, y=DType.FP32),
    "W4 int8 g32": dict(nbits=4, group_size=32, x=DType.INT8, y=DType.FP32),
    "W8 int8 int32": dict(nbits=8, x=DType.INT8, y=DType.INT32, scales=False),
    "W1 int8 int32 g32": dict(nbits=1, group_size=32, x=DType.INT8, y=DType.INT32, scales=False),
    "int8": dict(nbits=8, weights=torch.int8, bias=torch.float16),
    "int8 bf16": dict(nbits=8, weights=torch.int8, x=DType.BF16, y=DType.BF16),
    "int8 int8": dict(nbits=8, weights=torch.int8, x=DType.INT8, y=DType.FP32),
    "int8 int8 int32": dict(
        nbits=8, weights=torch.int8, x=DType.INT8, y=DType.INT32, scales=False, K=65
    ),
    "e4m3 fp16": dict(nbits=8, weights=E4M3, K=100),
    "e4m3 e4m3": dict(nbits=8, weights=E4M3, x=DType.FP8, y=DType.FP32),
    "e5m2 bf16": dict(nbits=8, weights=E5M2, x=DType.BF16, y=DType.FP32),
    "fp16": dict(nbits=16, weights=torch.float16, scales=False, bias=torch.float16),
    "bf16": dict(nbits=16, weights=torch.bfloat16, x=DType.BF16, y=DType.FP32),
}
IN_PIECES = {  # no Triton kernel reads these
    "W3 in pieces": dict(nbits=3, K=250, bias=torch.float16),
    "W5 in pieces": dict(nbits=5, group_size=32, x=DType.BF16, y=DType.FP32),
    "W6 in pieces": dict(nbits=6, group_size=48, K=144, zeros=False),
    "W7 in pieces": dict(nbits=7, group_size=64, fma_mode=True),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_as_near_to_the_oracle_as_derived(name, kernel):
    problem = make(**PROBLEMS[name])
    x = activations(3, problem.layer.in_features, problem.layer.input_dtype.value)
    problem.assert_right(problem.layer.forward_manual(x, kernel), x, kernel=kernel)


@pytest.mark.parametrize("kernel", ["GEMV_FAST", "DEQUANTIZE"])
@pytest.mark.parametrize("name", IN_PIECES)
def test_codes_in_pieces_are_as_near_to_the_oracle(name, kernel):
    problem = make(**IN_PIECES[name])
    x = activations(3, problem.layer.in_features, problem.layer.input_dtype.value)
    if kernel == "GEMV_FAST" and problem.layer.group_size == 48:
        pytest.skip("the fast kernel has no groups of 48, which DEQUANTIZE takes")
    problem.assert_right(problem.layer.forward_manual(x, kernel), x, kernel=kernel)


@pytest.mark.parametrize("M", [1, 2, 64, 65, 130])
@pytest.mark.parametrize("name", ["W4 g64 fp16 bias", "W8 g32 bf16", "W4 g48 padded", "int8"])
def test_every_number_of_rows_is_right(name, M):
    problem = make(**PROBLEMS[name])
    x = activations(M, problem.layer.in_features, problem.layer.input_dtype.value)
    kernel = problem.layer.explain(M).split()[3].strip(",")
    problem.assert_right(problem.layer(x), x, kernel=kernel)


@pytest.mark.parametrize("bias", [None, torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("dtype", [DType.FP16, DType.BF16])
def test_dequantized_weights_take_a_bias_of_any_type(dtype, bias):
    problem = make(4, 48, K=96, x=dtype, y=dtype, bias=bias)
    x = activations(3, 96, dtype.value)
    problem.assert_right(problem.layer.forward_manual(x, "DEQUANTIZE"), x, kernel="DEQUANTIZE")


@pytest.mark.parametrize("scale", [1e5, 1e-6])
def test_scales_beyond_fp16_are_as_right_for_many_rows_as_for_few(scale):
    W = torch.randn(N, K, generator=torch.Generator().manual_seed(0)) * scale
    q = quantize_linear(W, 4)
    layer = GemLiteLinear(4, None, K, N).pack(q.W_q, q.scales, q.zeros)
    x = (activations(70, K).float() * min(1 / scale, 1000)).half()
    expected = reference.matmul(x, q.dequantize(torch.float64))
    error = (layer(x).double() - expected).norm() / expected.norm()
    assert error < 2**-10


@pytest.mark.parametrize(
    "dtype, quantize, options",
    [
        (DType.INT8, scale_activations_int8, dict(nbits=8, weights=torch.int8)),
        (DType.INT8, scale_activations_int8, dict(nbits=4, group_size=32, bias=torch.float16)),
        (DType.FP8, scale_activations_fp8, dict(nbits=4, group_size=64, bias=torch.float16)),
        (DType.FP8, scale_activations_fp8, dict(nbits=8, weights=E4M3)),
        (DType.FP8e5, lambda x: scale_activations_fp8(x, E5M2), dict(nbits=2, group_size=64)),
    ],
)
def test_activations_are_scaled_for_each_token(dtype, quantize, options):
    problem = make(x=dtype, y=DType.FP32, scaled=True, **options)
    x = activations(3, K) * torch.tensor([[100.0], [1.0], [1e-3]]).half()
    codes, scales = quantize(x)
    y = problem.layer(x)
    problem.assert_right(y, codes, scales, kernel="GEMM_SPLITK")
    off = (codes.double() * scales - x.double()).abs()
    limit = problem.bound(problem.product(codes, scales), "GEMM_SPLITK")
    exact = problem.product(x).exact()
    assert ((y - exact).abs() <= limit + reference.matmul(off, problem.W.abs())).all()


def test_x_of_16_bits_may_be_said_to_be_scaled(x):
    """The default `scale_activations` has nothing to do for them, and takes float32 too."""
    problem = make(4, 64, scaled=True)
    problem.assert_right(problem.layer(x), x, kernel="GEMM_SPLITK")
    assert torch.equal(problem.layer(x.float()), problem.layer(x))


def test_int32_sums_are_exact_at_the_ends_of_int8():
    W = torch.full((N, K), -128, dtype=torch.int8)
    layer = GemLiteLinear(8, None, K, N, DType.INT8, DType.INT32).pack(W)
    for kernel in KERNELS:
        y = layer.forward_manual(torch.full((2, K), -128, dtype=torch.int8), kernel)
        assert y.dtype == torch.int32 and (y == 128 * 128 * K).all()


@pytest.mark.parametrize(
    "dtype, largest",
    [(DType.FP16, torch.inf), (DType.FP8, 448.0), (DType.FP8e5, 57344.0)],
)
def test_what_y_cannot_hold(dtype, largest):
    W = torch.full((N, K), 127, dtype=torch.int8)
    layer = GemLiteLinear(8, None, K, N, DType.FP16, dtype).pack(W, 100.0)
    y = layer(torch.tensor([100.0, -100.0]).half()[:, None].expand(2, K))
    assert (y.float() == torch.tensor([[largest], [-largest]])).all()


@pytest.mark.parametrize("kernel", [*KERNELS, "DEQUANTIZE"])
def test_nan_stays_in_its_row_and_its_channel(kernel, x):
    q = quantize_linear(torch.randn(N, K), 4, group_size=64)
    x[1, 5] = torch.nan
    layer = GemLiteLinear(4, 64, K, N).pack(q.W_q, q.scales, q.zeros)
    layer.scales.data[1, 7] = torch.nan  # pack refuses one
    expected = torch.zeros(3, N, dtype=torch.bool)
    expected[1], expected[:, 7] = True, True
    assert torch.equal(layer.forward_manual(x, kernel).isnan(), expected)


@pytest.mark.parametrize("name, N, K", [("1", 1, 1), ("7", 1, 7), ("17", 5, 17), ("33", 3, 33)])
@pytest.mark.parametrize("nbits", [8, 4, 3, 2, 1])
def test_the_smallest_and_the_oddest_sizes(nbits, name, N, K):
    problem = make(nbits, N=N, K=K)
    x = activations(2, K)
    problem.assert_right(problem.layer(x), x)


@pytest.mark.parametrize("group_size", [16, 8, 2])
def test_small_groups(group_size):
    problem = make(4, group_size, N=3, K=32)
    x = activations(2, 32)
    problem.assert_right(problem.layer(x), x)


def test_accumulation_in_fp16_is_a_choice(x):
    """Of tensor cores: the interpreter has none, and computes as ever."""
    problem = make(4, 64, acc_dtype=DType.FP16)
    problem.assert_right(problem.layer.forward_manual(x), x)
    assert "float16" in problem.layer.explain(20, machine=None)


# What pack takes


def with_scales(scales, zeros, group_size=64):
    q = quantize_linear(torch.randn(N, K, generator=torch.Generator().manual_seed(0)), 4)
    return GemLiteLinear(4, group_size, K, N).pack(q.W_q, scales, zeros)


GROUPS = torch.rand(N, 2, generator=torch.Generator().manual_seed(2)) + 0.5
CHANNELS = torch.rand(N, 1, generator=torch.Generator().manual_seed(3)) + 0.5
SPELLINGS = {
    "one for each group": (
        GROUPS,
        [
            GROUPS.reshape(-1, 1),
            GROUPS.flatten(),
            GROUPS.T.contiguous().T,
            GROUPS.repeat(1, 2)[:, :2],
        ],
    ),
    "one for each channel": (
        CHANNELS,
        [CHANNELS.T, CHANNELS.flatten(), CHANNELS.expand(N, 2)[:, :1], CHANNELS.expand(N, 2)],
    ),
    "one": (
        torch.full((N, 1), 7.0),
        [7, 7.0, np.float32(7), torch.tensor(7.0), torch.tensor([7.0]), torch.tensor([[7.0]])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_scales_and_zeros_in_every_spelling(name, x):
    usual, spellings = SPELLINGS[name]
    y, y_of_zeros = with_scales(usual, 7.0)(x), with_scales(GROUPS, usual)(x)
    for spelled in spellings:
        torch.testing.assert_close(with_scales(spelled, 7.0)(x), y, rtol=2**-9, atol=2**-9)
        assert torch.equal(with_scales(GROUPS, spelled)(x), y_of_zeros), spelled


def test_no_scales_and_no_zeros(x):
    assert torch.equal(with_scales(None, 7.0)(x), with_scales(1.0, 7.0)(x))
    assert torch.equal(with_scales(GROUPS, None)(x), with_scales(GROUPS, 0.0)(x))
    assert torch.equal(with_scales(None, None)(x), with_scales(1.0, 0.0)(x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_scales_and_zeros_of_other_types(dtype, x):
    scales, zeros = GROUPS.to(dtype), (GROUPS * 8).to(dtype)
    y, layer = with_scales(scales.float(), zeros.float())(x), with_scales(scales, zeros)
    assert torch.equal(layer(x), y)
    assert torch.equal(reloaded(GemLiteLinear(), layer.state_dict())(x), y)


def test_a_default_type_of_torch_does_not_round_numbers():
    expected = GemLiteLinear(4, 64, K, N).pack(CODES, 0.1, 7.3)
    torch.set_default_dtype(torch.bfloat16)
    try:
        layer = GemLiteLinear(4, 64, K, N).pack(CODES, 0.1, 7.3)
    finally:
        torch.set_default_dtype(torch.float32)
    assert same_state(layer, expected)


@pytest.mark.parametrize(
    "shape", [(2, N), (N // 2, 4), (2, N // 2), (4, N // 2), (1, 2 * N), (N, 3), (N + 1,), (0, 2)]
)
@pytest.mark.parametrize("name", ["scales", "zeros"])
def test_other_shapes_are_refused_and_not_reshaped(name, shape):
    others = {"scales": GROUPS, "zeros": GROUPS} | {name: torch.ones(shape)}
    with pytest.raises(ValueError, match=f"^{name} must .*{N}") as refused:
        with_scales(others["scales"], others["zeros"])
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("N, K", [(16, 64), (20, 40), (3, 70)])
@pytest.mark.parametrize("nbits", [8, 4, 2, 1])
def test_words_of_the_seed_are_taken_as_codes(nbits, N, K):
    codes = torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8)
    expected = GemLiteLinear(nbits, None, K, N).pack(codes, 0.5, 1.0)
    for pack in (pack_over_cols, pack_over_rows):
        for word_bits in (8, 16, 32):
            words = pack(codes, nbits, word_bits)
            layer = GemLiteLinear(nbits, None, K, N).pack(words, 0.5, 1.0)
            assert same_state(layer, expected), (pack.__name__, word_bits)


def test_words_of_the_top_bit_are_no_negative_codes():
    codes = torch.full((N, K), 15, dtype=torch.uint8)
    layer = GemLiteLinear(4, None, K, N).pack(pack_over_cols(codes, 4), 1.0)
    assert (layer(torch.ones(1, K).half()) == 15 * K).all()


@pytest.mark.parametrize("word_bits", [8, 16, 32])
def test_the_width_of_words_changes_no_number(word_bits, x):
    q = quantize_linear(torch.randn(N, K), 4, group_size=64)
    layer = GemLiteLinear(4, 64, K, N)
    expected = layer.pack(q.W_q, q.scales, q.zeros)(x)
    y = layer.pack(q.W_q, q.scales, q.zeros, packing_bitwidth=word_bits)(x)
    torch.testing.assert_close(y, expected, rtol=2**-10, atol=2**-10)
    assert layer.W_q.dtype.itemsize == word_bits // 8


def test_views_are_taken_by_their_numbers(x):
    q = quantize_linear(torch.randn(N, K), 4, group_size=64)
    expected = GemLiteLinear(4, 64, K, N).pack(q.W_q, q.scales, q.zeros, torch.ones(N))
    views = [
        q.W_q.T.contiguous().T,
        q.W_q.repeat(1, 2)[:, :K],
        q.W_q.repeat_interleave(2, 1)[:, ::2],
        torch.nn.Parameter(q.W_q, requires_grad=False),
    ]
    for view in views:
        layer = GemLiteLinear(4, 64, K, N).pack(view, q.scales, q.zeros, torch.ones(1).expand(N))
        assert same_state(layer, expected)
    W = torch.randint(-128, 128, (N, K), dtype=torch.int8)
    first, second = (GemLiteLinear(8, None, K, N).pack(w, 1.0) for w in (W, W.T.contiguous().T))
    assert same_state(first, second)


def test_pack_keeps_copies():
    W = torch.randint(-128, 128, (N, 64), dtype=torch.int8)
    scales, bias = torch.ones(1, N), torch.zeros(N)
    layer = GemLiteLinear(8, None, 64, N).pack(W, scales, None, bias)
    before = copy.deepcopy(layer)
    for tensor in (W, scales, bias):
        tensor.add_(1)
    assert same_state(layer, before)


def test_pack_may_be_called_again(x):
    layer, other = (make(4, 64, seed=seed, bias=torch.float16) for seed in (0, 1))
    again = layer.layer.pack(other.codes, other.scales, other.zeros)
    assert again is layer.layer and again.bias is None
    torch.testing.assert_close(again(x), other.layer(x) - other.bias, rtol=2**-7, atol=2**-7)


def test_a_refused_pack_changes_nothing(problem, x):
    layer, before = problem.layer, problem.layer(x)
    codes, scales, zeros = problem.codes.flip(0), problem.scales, problem.zeros
    for wrong in (
        (codes, scales, zeros, torch.ones(3)),
        (codes, torch.ones(7), zeros),
        (codes, scales, torch.ones(7)),
        (codes + 1, scales, zeros),
    ):
        with pytest.raises(ValueError):
            layer.pack(*wrong)
        assert torch.equal(layer(x), before)


def test_pack_without_grad_and_in_inference_mode(x):
    W = torch.nn.Parameter(torch.randn(N, K).half())
    scales = torch.ones(N, 1, requires_grad=True)
    with torch.no_grad():
        y = GemLiteLinear(16, None, K, N).pack(W, scales)(x)
    with torch.inference_mode():
        layer = GemLiteLinear(16, None, K, N).pack(W, scales)
    assert torch.equal(layer(x), y) and torch.equal(copy.deepcopy(layer)(x), y)


# scale_activations of one's own


def in_halves(x):
    """Codes of steps of a half for all tokens."""
    return (x * 2).round().to(torch.int8), torch.full((len(x), 1), 0.5)


class Halves(torch.nn.Module):
    """The same as a module with a parameter."""

    def __init__(self):
        super().__init__()
        self.step = torch.nn.Parameter(torch.tensor(0.5), requires_grad=False)

    def forward(self, x):
        return (x / self.step.float()).round().to(torch.int8), self.step.float().expand(len(x), 1)


def test_scale_activations_is_overridden_as_in_the_seed(x):
    problem = make(8, x=DType.INT8, y=DType.FP32, scaled=True)
    layer = problem.layer
    usual = layer(x)
    layer.scale_activations = in_halves
    assert not torch.equal(layer(x), usual)
    problem.assert_right(layer(x), *in_halves(x), kernel="GEMM_SPLITK")
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(x), layer(x))
    other = GemLiteLinear()
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x), usual)  # a function is no state
    del layer.scale_activations
    assert torch.equal(layer(x), usual)


def test_scale_activations_may_be_a_module_or_a_method_of_a_subclass(x):
    expected = make(8, x=DType.INT8, y=DType.FP32, scaled=True)
    expected.layer.scale_activations = in_halves
    y = expected.layer(x)
    layer = make(8, x=DType.INT8, y=DType.FP32, scaled=True).layer
    layer.scale_activations = Halves()
    assert torch.equal(layer(x), y)
    assert torch.equal(layer.half()(x), y)
    assert torch.equal(copy.deepcopy(layer)(x), y)

    class Mine(GemLiteLinear):
        def scale_activations(self, x):
            return in_halves(x)

    mine = Mine(8, None, K, N, DType.INT8, DType.FP32, scaled_activations=True)
    mine.pack(expected.codes, expected.scales, expected.zeros)
    assert torch.equal(mine(x), y)


def test_one_scale_for_all_tokens(x):
    layer = make(8, x=DType.INT8, y=DType.FP32, scaled=True).layer
    layer.scale_activations = in_halves
    y = layer(x)
    for scale in (torch.tensor(0.5), torch.full((1,), 0.5), torch.full((1, 1), 0.5).half()):
        layer.scale_activations = lambda x, scale=scale: (in_halves(x)[0], scale)
        assert torch.equal(layer(x), y)
    layer.scale_activations = lambda x: (in_halves(x)[0], None)
    torch.testing.assert_close(layer(x) / 2, y)


WRONG_SCALING = {
    "x alone": lambda x: in_halves(x)[0],
    "more than a pair": lambda x: (*in_halves(x), 1),
    "x of another type": lambda x: (x, torch.ones(3, 1)),
    "scales of too many rows": lambda x: (in_halves(x)[0], torch.ones(5, 1)),
    "a scale of every x": lambda x: (in_halves(x)[0], torch.ones(3, K)),
    "empty scales": lambda x: (in_halves(x)[0], torch.ones(0)),
    "a number": lambda x: (in_halves(x)[0], 0.5),
    "a list": lambda x: (in_halves(x)[0], [0.5, 0.5, 0.5]),
    "complex scales": lambda x: (in_halves(x)[0], torch.ones(3, 1) + 0j),
    "scales on meta": lambda x: (in_halves(x)[0], torch.ones(3, 1, device="meta")),
    "x wider": lambda x: (in_halves(x)[0].repeat(1, 2), torch.ones(3, 1)),
    "x narrower": lambda x: (in_halves(x)[0][:, :64], torch.ones(3, 1)),
    "fewer rows": lambda x: (in_halves(x)[0][:2], torch.ones(2, 1)),
    "x on meta": lambda x: (in_halves(x)[0].to("meta"), torch.ones(3, 1)),
    "no x": lambda x: (None, torch.ones(3, 1)),
    "nothing": lambda x: None,
}


@pytest.mark.parametrize("name", WRONG_SCALING)
def test_a_wrong_scale_activations_gets_one_sentence(name, x):
    layer = make(8, x=DType.INT8, scaled=True).layer
    layer.scale_activations = WRONG_SCALING[name]
    with pytest.raises((ValueError, TypeError), match="scale_activations|^x ") as refused:
        layer(x)
    assert "\n" not in str(refused.value)


# x


def test_leading_dimensions(layer, x):
    y = layer(x)
    assert torch.equal(layer(x[0]), layer(x[:1])[0])
    assert torch.equal(layer(x.reshape(3, 1, 1, K)), y.reshape(3, 1, 1, N))
    assert torch.equal(layer(x.expand(2, 3, K)), layer(x.repeat(2, 1)).reshape(2, 3, N))
    scaled = make(8, 64, x=DType.INT8, scaled=True).layer
    assert torch.equal(scaled(x.reshape(3, 1, K)), scaled(x).reshape(3, 1, N))
    assert torch.equal(scaled(x[0]), scaled(x[:1])[0])


@pytest.mark.parametrize("group_size", [64, 48])
def test_no_rows(group_size):
    layer = make(4, group_size, K=192, bias=torch.float16).layer
    for shape in ((0, 192), (2, 0, 192)):
        x = torch.zeros(shape).half()
        kernels = (*KERNELS, "DEQUANTIZE")
        for y in (layer(x), *(layer.forward_manual(x, kernel) for kernel in kernels)):
            assert y.shape == (*shape[:-1], N) and y.dtype == torch.float16
    scaled = make(4, group_size, K=192, x=DType.INT8, scaled=True).layer
    assert scaled(torch.zeros(0, 192).half()).shape == (0, N)


@pytest.mark.parametrize("kernel", [*KERNELS, "DEQUANTIZE"])
def test_x_need_not_be_contiguous(layer, x, kernel):
    y = layer.forward_manual(x, kernel)
    for view in (x.T.contiguous().T, x.repeat(1, 2)[:, :K], x.repeat_interleave(2, 1)[:, ::2]):
        assert not view.is_contiguous()
        assert torch.equal(layer.forward_manual(view, kernel), y)
    column = layer.forward_manual(torch.ones(3, 1).half().expand(3, K), kernel)
    assert torch.equal(column, layer.forward_manual(torch.ones(3, K).half(), kernel))


def test_x_stays_as_it_is_and_the_answer_repeats(layer, x):
    before, y = x.clone(), layer(x)
    assert torch.equal(layer(x), y) and torch.equal(x, before)


def test_x_that_requires_grad_is_refused_where_a_gradient_would_be_lost(layer, x):
    y = layer(x)
    x.requires_grad_()
    for use in (layer, layer.forward_manual, lambda x: layer(x * 2)):
        with pytest.raises(ValueError, match="x requires grad.*no backward.*no_grad") as refused:
            use(x)
        assert "\n" not in str(refused.value)
    with torch.no_grad():
        assert torch.equal(layer(x), y)
    with torch.inference_mode():
        assert torch.equal(layer(x), y)
    assert torch.equal(layer(x.detach()), y)


def test_a_bias_that_requires_grad_is_refused_where_its_gradient_would_be_lost(fresh_compiler, x):
    layer = make(4, 64, bias=torch.float16).layer
    y = layer(x)
    layer.bias.requires_grad_()
    with pytest.raises(ValueError, match="^bias requires grad and this kernel has no backward"):
        layer(x)
    with pytest.raises(Exception, match="bias requires grad"):
        torch.compile(layer, fullgraph=True, backend="aot_eager")(x)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert torch.equal(layer(x), y)


def test_a_scaled_layer_refuses_x_that_requires_grad(x):
    layer = make(8, x=DType.INT8, scaled=True).layer
    with pytest.raises(ValueError, match="x requires grad"):
        layer(x.requires_grad_())


# Saved, copied, moved


@pytest.fixture(params=["W4 g64 fp16 bias", "W3 g32 bf16 fp16", "int8", "W2 g16 fma", *IN_PIECES])
def any_problem(request):
    return make(**(PROBLEMS | IN_PIECES)[request.param])


def reloaded(layer, state):
    loaded = layer.load_state_dict(state, strict=True)
    assert not loaded.missing_keys and not loaded.unexpected_keys
    return layer


def test_every_way_to_keep_a_layer(any_problem, tmp_path):
    layer = any_problem.layer
    x = activations(3, layer.in_features, layer.input_dtype.value)
    y, state, file = layer(x), layer.state_dict(), io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    save_file(state, tmp_path / "layer.safetensors")
    torch.save(layer, tmp_path / "layer.pt")
    others = [
        reloaded(GemLiteLinear(), state),
        reloaded(GemLiteLinear(), torch.load(file, weights_only=True)),
        reloaded(GemLiteLinear(), load_file(tmp_path / "layer.safetensors")),
        reloaded(make(1, None, N=3, K=40, bias=torch.float16).layer, state),
        torch.load(tmp_path / "layer.pt", weights_only=False),
        copy.deepcopy(layer),
        copy.copy(layer),
        pickle.loads(pickle.dumps(layer)),
    ]
    for other in others:
        assert same_state(other, layer) and other.explain(5) == layer.explain(5)
        assert repr(other) == repr(layer)
        assert not any(parameter.requires_grad for parameter in other.parameters())
    for other in (others[2], others[3], others[-1]):
        assert torch.equal(other(x), y)


def test_inside_of_a_model(x, tmp_path):
    def model():
        first = GemLiteLinear()
        return torch.nn.Sequential(
            first, torch.nn.ReLU(), torch.nn.ModuleDict({"a": GemLiteLinear()})
        )

    made = torch.nn.Sequential(
        make(4, 64, N=K, bias=torch.float16).layer,
        torch.nn.ReLU(),
        torch.nn.ModuleDict({"a": make(2, 32, seed=1).layer}),
    )
    save_file(made.state_dict(), tmp_path / "model.safetensors")
    other = reloaded(model(), load_file(tmp_path / "model.safetensors"))
    expected = made[2]["a"](made[1](made[0](x)))
    assert torch.equal(other[2]["a"](other[1](other[0](x))), expected)


def test_layers_that_share_a_bias_can_be_saved_together(tmp_path):
    bias, q = torch.ones(N), quantize_linear(torch.randn(N, K), 4)
    layers = [GemLiteLinear(4, None, K, N).pack(q.W_q, q.scales, q.zeros, bias) for _ in range(2)]
    save_file(torch.nn.Sequential(*layers).state_dict(), tmp_path / "both.safetensors")


def test_a_loaded_layer_has_memory_of_its_own(layer, x):
    y, state = layer(x), layer.state_dict()
    other = reloaded(GemLiteLinear(), state)
    with torch.no_grad():
        state["scales"].zero_()
    assert torch.equal(other(x), y)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", ["W_q", "high", "scales", "zeros", "metadata"])
def test_a_state_without_a_tensor_is_refused(name, strict):
    """Not strict: the layer may say later that it has no weights; it never answers without them."""
    layer = make(3, 32, bias=torch.float16, word_bits=32).layer
    state, other = layer.state_dict(), GemLiteLinear()
    del state[name]
    with pytest.raises((RuntimeError, ValueError), match=f"{name}|no weights"):
        other.load_state_dict(state, strict=strict)
        other(activations(1, K))


def test_a_state_without_its_bias_or_channel_scales_is_refused():
    layer = make(4, bias=torch.float16).layer
    for name in ("bias", "channel_scales"):
        state = layer.state_dict()
        del state[name]
        with pytest.raises((RuntimeError, ValueError), match=name):
            GemLiteLinear().load_state_dict(state)


def test_a_state_with_more_keys_is_refused_if_strict(layer, x):
    state = layer.state_dict() | {"foo": torch.ones(1)}
    with pytest.raises(RuntimeError, match="foo"):
        GemLiteLinear().load_state_dict(state)
    other = GemLiteLinear()
    other.load_state_dict(state, strict=False)
    assert torch.equal(other(x), layer(x))


BROKEN = {
    "scales of too few groups": lambda s: s.update(scales=s["scales"][:1]),
    "scales of too few channels": lambda s: s.update(scales=s["scales"][:, :3]),
    "scales in one row": lambda s: s.update(scales=s["scales"].flatten()),
    "integer zeros": lambda s: s.update(zeros=s["zeros"].int()),
    "zeros of too few groups": lambda s: s.update(zeros=s["zeros"][:1]),
    "a short bias": lambda s: s.update(bias=s["bias"][:3]),
    "a bias of two dimensions": lambda s: s.update(bias=s["bias"][None]),
    "words of another width": lambda s: s.update(W_q=s["W_q"].short()),
    "floating-point words": lambda s: s.update(W_q=s["W_q"].float()),
    "too few words": lambda s: s.update(W_q=s["W_q"][:, :3]),
    "metadata of floats": lambda s: s.update(metadata=s["metadata"].float() + 0.5),
    "short metadata": lambda s: s.update(metadata=s["metadata"][:4]),
    "metadata of one number": lambda s: s.update(metadata=s["metadata"][0]),
    "empty metadata": lambda s: s.update(metadata=s["metadata"][:0]),
}


def number(position, value):
    def change(state):
        state["metadata"] = state["metadata"].clone()
        state["metadata"][position] = value

    return change


BROKEN |= {
    f"metadata[{position}] = {value}": number(position, value)
    for position in range(10)
    for value in (99, -1)
} | {"another group size": number(1, 32)}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_state_gets_a_sentence_and_changes_nothing(name, layer):
    state, other = layer.state_dict(), make(4, 32, N=4, seed=1).layer
    before = copy.deepcopy(other)
    BROKEN[name](state)
    with pytest.raises((RuntimeError, ValueError, TypeError)) as refused:
        other.load_state_dict(state)
    assert not isinstance(refused.value, NotImplementedError)
    assert "list ind" not in str(refused.value) and "out of range" not in str(refused.value)
    assert same_state(other, before) and repr(other) == repr(before)
    assert other.explain(4) == before.explain(4)


def test_the_state_of_another_module_is_refused():
    with pytest.raises((RuntimeError, ValueError), match="W_q"):
        GemLiteLinear().load_state_dict(torch.nn.Linear(4, 4).state_dict())


def test_casts_of_a_model_change_no_number(any_problem):
    layer = any_problem.layer
    before = copy.deepcopy(layer)
    x = activations(3, layer.in_features, layer.input_dtype.value)
    torch.nn.Sequential(layer).half().bfloat16().double().float()
    layer.to(torch.float16).to(dtype=torch.bfloat16, device="cpu").to(activations(1, 1))
    layer.to(memory_format=torch.preserve_format).eval().train().cpu()
    assert same_state(layer, before) and torch.equal(layer(x), before(x))


def test_a_layer_on_meta_knows_shapes(any_problem):
    layer = any_problem.layer.to("meta")
    x = activations(3, layer.in_features, layer.input_dtype.value).to("meta")
    y = layer(x)
    assert y.device.type == "meta" and y.shape == (3, N)
    assert y.dtype == layer.output_dtype.value
    assert all(t.device.type == "meta" for t in layer.state_dict().values())


def test_from_meta_back_to_numbers(layer, x):
    y, state = layer(x), copy.deepcopy(layer.state_dict())
    with torch.device("meta"):
        empty, made = GemLiteLinear(), GemLiteLinear(4, 64, K, N)
    moved = copy.deepcopy(layer).to("meta")
    there = copy.deepcopy(layer).to("meta").to_empty(device="cpu")
    for other, assign in ((empty, False), (made, False), (moved, True), (there, False)):
        other.load_state_dict(state, assign=assign)
        assert torch.equal(other(x), y)


def test_pack_under_another_default_device(problem, x):
    with torch.device("meta"):
        layer = GemLiteLinear(4, 64, K, N)
        layer.pack(problem.codes, problem.scales, 1.0, problem.bias)
    expected = GemLiteLinear(4, 64, K, N).pack(problem.codes, problem.scales, 1.0, problem.bias)
    assert same_state(layer, expected)


def test_a_replica_for_another_device_has_its_tensors_as_attributes(layer, x):
    replica = layer._replicate_for_data_parallel()
    for name, parameter in layer.named_parameters():
        setattr(replica, name, parameter.data)
    for name in ("high", "channel_scales"):
        replica._parameters[name] = None
    assert torch.equal(replica(x), layer(x))


def test_a_parametrized_bias_is_what_its_parametrization_makes(layer, x):
    y, bias = layer(x), layer.bias.clone()
    torch.nn.utils.parametrize.register_parametrization(layer, "bias", torch.nn.ReLU())
    torch.testing.assert_close(layer(x) - y, (bias.relu() - bias).expand_as(y), atol=2**-6, rtol=0)


def test_a_layer_does_not_train(layer):
    assert list(layer.parameters())
    assert not any(parameter.requires_grad for parameter in layer.parameters())
    assert layer.train() is layer and layer.eval() is layer
    layer.zero_grad()
    layer.requires_grad_(False)


# torch.compile


def test_torch_compile_takes_it_whole(fresh_compiler, layer, x):
    model = torch.nn.Sequential(layer, torch.nn.ReLU())
    assert torch.equal(torch.compile(model, fullgraph=True)(x), model(x))


def test_one_graph_for_any_number_of_rows(fresh_compiler, layer):
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    compiled(activations(2, K))
    with torch.compiler.set_stance("fail_on_recompile"):
        for M in (3, 17, 70):
            x = activations(M, K)
            assert torch.equal(compiled(x), layer(x))
    for M in (0, 1):
        x = activations(M, K)
        assert torch.equal(compiled(x), layer(x))


@pytest.mark.parametrize("dtype", [DType.INT8, DType.FP8])
def test_scaled_activations_are_in_the_graph(fresh_compiler, dtype, x):
    layer = make(4, 64, x=dtype, scaled=True, bias=torch.float16).layer
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    assert torch.equal(compiled(x), layer(x))
    batch = x.reshape(1, 3, K)
    assert torch.equal(compiled(batch), layer(batch))


def test_an_override_is_in_the_graph(fresh_compiler, x):
    layer = make(8, x=DType.INT8, scaled=True).layer
    layer.scale_activations = in_halves
    y = layer(x)
    assert torch.equal(torch.compile(layer, fullgraph=True, backend="eager")(x), y)


@pytest.mark.filterwarnings("ignore:Error detected in")
@pytest.mark.parametrize("dtype", [DType.FP16, DType.INT8])
def test_a_compiled_layer_loses_no_gradient_either(fresh_compiler, dtype, x):
    layer = make(4, 64, x=dtype, scaled=dtype == DType.INT8).layer
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match="requires grad|no autograd formula"):
        compiled(x.requires_grad_())


def test_torch_export(fresh_compiler, layer, x):
    rows = torch.export.Dim("rows", min=2, max=512)
    exported = torch.export.export(layer, (x,), dynamic_shapes=((rows, None),))
    for M in (3, 5):
        assert torch.equal(exported.module()(activations(M, K)), layer(activations(M, K)))


@pytest.mark.parametrize("kernel", ["", "DEQUANTIZE"])
def test_the_operator_is_one_of_torch(kernel, x):
    layer = make(3, 64, bias=torch.float16).layer
    arguments = layer.W_q, layer.high, layer.scales, layer.zeros, layer.channel_scales, layer.bias
    for rows in (x, x[:0]):
        torch.library.opcheck(
            torch.ops.gemlite_edu.linear,
            (rows, None, *arguments, layer._form_text, kernel),
        )


# The notice, the choice, explain


NOTICE = "On the CPU the Triton kernels are interpreted"


@pytest.fixture
def not_said_yet():
    linear_op._notice_cpu.cache_clear()


def test_the_notice_comes_once_on_stdout(not_said_yet, layer, x, capsys):
    layer.forward_manual(x, "GEMV")
    said = capsys.readouterr()
    assert said.out.startswith(NOTICE) and said.out.count("\n") == 1 and said.err == ""
    layer.forward_manual(x, "GEMV")
    make(2).layer.forward_manual(x, "GEMM")
    assert capsys.readouterr() == ("", "")


def test_a_compiled_layer_gives_the_notice_too(fresh_compiler, not_said_yet, capsys):
    layer, x = make(8, weights=torch.int8).layer, activations(3, K)
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    compiled(x)
    compiled(x)
    assert capsys.readouterr().out.count(NOTICE) == 1


def test_no_notice_of_meta_layers(not_said_yet, layer, x, capsys):
    layer.to("meta")(x.to("meta"))
    assert capsys.readouterr().out == ""


KINDS = {
    "16 bits": dict(nbits=4, group_size=64),
    "bf16": dict(nbits=2, x=DType.BF16, y=DType.BF16),
    "other types": dict(nbits=4, group_size=64, y=DType.FP32),
    "fp16 to bf16": dict(nbits=4, group_size=64, y=DType.BF16),
    "int8": dict(nbits=8, x=DType.INT8),
    "numbers": dict(nbits=8, weights=torch.int8),
}


@pytest.mark.parametrize("x", [DType.FP16, DType.BF16, DType.FP8, DType.FP8e5, DType.INT8])
@pytest.mark.parametrize("y", [DType.FP16, DType.BF16, DType.FP32, DType.FP8, DType.FP8e5])
def test_many_rows_are_dequantized_only_where_x_and_y_have_one_16_bit_type(x, y):
    layer = make(4, 64, N=2, K=64, x=x, y=y).layer
    is_alike = x == y and x in (DType.FP16, DType.BF16)
    last = "DEQUANTIZE" if is_alike else "GEMM"
    assert layer.limits(machine=None) == ((1, "GEMV"), (64, "GEMM_SPLITK"), (None, last))


@pytest.mark.parametrize(
    "options, weights",
    [
        (dict(nbits=4), "packed weights that fit the 16-bit type of x and y"),
        (dict(nbits=4, y=DType.FP32), "packed weights, otherwise"),
        (dict(nbits=8, weights=torch.int8), "weights that are numbers"),
    ],
)
def test_explain_says_which_rule_fired(options, weights):
    layer = make(**options).layer
    for M, words in ((1, "one row needs each weight once"), (64, "programs share K")):
        _, second, *_ = lines = layer.explain(M, machine=None).splitlines()
        assert second == f"{weights}:"
        (why,) = [line for line in lines if line.startswith("why ")]
        assert words in why and why.split()[1].strip(":") in lines[0]


@pytest.mark.parametrize("M", [1, 16, 70])
@pytest.mark.parametrize("name", KINDS)
def test_in_inference_mode_torch_is_not_told_and_y_is_the_same(name, M, monkeypatch):
    layer = make(**KINDS[name]).layer
    x = activations(M, K, layer.input_dtype.value)
    y = layer(x)
    monkeypatch.setattr(linear_module, "linear", None)
    with torch.inference_mode():
        assert torch.equal(layer(x), y)


VIEWS = {
    "negated": lambda tensor: torch._neg_view(-tensor),
    "every second": lambda tensor: torch.stack((tensor, tensor + 1), -1)[..., 0],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("M", [1, 16, 70])
def test_a_view_is_not_read_as_it_lies_in_memory(M, view):
    layer, x = make(nbits=4, group_size=64, bias=torch.float16).layer, activations(M, K)
    y = layer(x)
    for name in ("scales", "zeros", "bias"):
        setattr(layer, name, torch.nn.Parameter(view(getattr(layer, name)), requires_grad=False))
    with torch.inference_mode():
        assert torch.equal(layer(view(x)), y)


def test_x_without_memory_counts_as_zeros():
    layer = make(**KINDS["16 bits"]).layer
    with torch.inference_mode():
        y = layer(torch._efficientzerotensor((2, K), dtype=torch.float16))
    assert torch.equal(y, torch.zeros_like(y))


def test_x_that_requires_grad_is_refused_in_inference_mode_too(x):
    layer, x = make(**KINDS["16 bits"]).layer, x.clone().requires_grad_()
    with torch.inference_mode(), torch.enable_grad(), pytest.raises(ValueError, match="x requires"):
        layer(x)


def test_a_bias_of_another_shape_cannot_be_put_in(layer):
    for shape in ((N - 1,), (1, N), ()):
        with pytest.raises(ValueError, match=rf"bias must have shape \({N},\), got"):
            layer.bias = torch.nn.Parameter(torch.zeros(shape), requires_grad=False)
    layer.bias = None
    layer.bias = torch.nn.Parameter(torch.zeros(N), requires_grad=False)


@pytest.mark.parametrize("name", ["W_q", "scales", "zeros"])
def test_weights_that_the_kernels_would_read_wrongly_cannot_be_put_in(layer, x, name):
    y, own = layer(x), getattr(layer, name)
    for wrong in (own[:-1], own.to(torch.int8), own.flatten(), None):
        wrong = wrong if wrong is None else torch.nn.Parameter(wrong, requires_grad=False)
        with pytest.raises(ValueError, match=f"{name} must stay torch.*, got .*: pack the layer"):
            setattr(layer, name, wrong)
    with pytest.raises(ValueError, match="high must stay none, got torch"):
        layer.high = own
    with pytest.raises(TypeError, match="cannot assign"):
        setattr(layer, name, 2.0)
    assert torch.equal(layer(x), y)


@pytest.mark.parametrize("name", ["scales", "bias"])
def test_a_tensor_on_another_device_cannot_be_put_in(layer, name):
    elsewhere = torch.empty_like(layer.scales if name == "scales" else layer.bias, device="meta")
    with pytest.raises(ValueError, match=f"{name} is on meta and the layer on cpu: move it"):
        setattr(layer, name, torch.nn.Parameter(elsewhere, requires_grad=False))


def test_what_was_deleted_comes_back_in_its_own_form_alone(layer):
    scales = layer.scales
    del layer.scales
    with pytest.raises(ValueError, match="scales must stay torch.float32"):
        layer.scales = torch.nn.Parameter(scales[:, :1], requires_grad=False)
    layer.scales = torch.nn.Parameter(scales.half(), requires_grad=False)


def test_a_bias_is_floating_point(layer):
    for dtype in (torch.int32, torch.float64, torch.bool):
        with pytest.raises(TypeError, match=f"bias must be torch.float16, .* got {dtype}"):
            layer.bias = torch.nn.Parameter(torch.zeros(N, dtype=dtype), requires_grad=False)


def test_sums_in_int32_have_no_bias():
    layer = make(8, x=DType.INT8, y=DType.INT32, weights=torch.int8, scales=False).layer
    with pytest.raises(ValueError, match="INT32 is for INT8 x without any scales or bias"):
        layer.bias = torch.nn.Parameter(torch.zeros(layer.out_features), requires_grad=False)


@pytest.mark.parametrize("had_bias", [True, False])
def test_a_layer_whose_bias_came_or_went_is_saved_as_it_is(x, had_bias):
    layer = make(4, 64, N=N, K=K, bias=torch.float16 if had_bias else None).layer
    bias = None if had_bias else torch.nn.Parameter(torch.ones(N), requires_grad=False)
    layer.bias = bias
    again = GemLiteLinear()
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(x), layer(x)) and (again.bias is None) == had_bias


def test_a_layer_that_gets_no_memory_stays_as_it_was(layer, x, monkeypatch):
    other, y = make(4, 64, N=N, K=K, seed=7), layer(x)
    clone, state = torch.Tensor.clone, make(4, 64, N=N + 4, K=2 * K).layer.state_dict()

    def no_memory_for_scales(tensor, **options):
        if tensor.dtype == torch.float32:
            raise torch.OutOfMemoryError
        return clone(tensor, **options)

    monkeypatch.setattr(torch.Tensor, "clone", no_memory_for_scales)
    for change in (
        lambda: layer.pack(other.codes, other.scales, other.zeros),
        lambda: layer.load_state_dict(state),
    ):
        with pytest.raises(torch.OutOfMemoryError):
            change()
        assert torch.equal(layer(x), y)


@pytest.mark.parametrize("order", [1, -1])
def test_a_layer_can_be_moved_tensor_by_tensor(layer, order):
    state = {name: tensor.detach().clone() for name, tensor in layer.named_parameters()}
    for name, tensor in state.items():
        setattr(layer, name, torch.nn.Parameter(tensor.to("meta"), requires_grad=False))
    assert {tensor.device.type for tensor in layer.parameters()} == {"meta"}
    for name, tensor in list(state.items())[::order]:
        setattr(layer, name, torch.nn.Parameter(tensor, requires_grad=False))
    assert {tensor.device.type for tensor in layer.parameters()} == {"cpu"}


def test_the_operator_refuses_an_x_that_does_not_fit(layer, x):
    tensors = [getattr(layer, name) for name in TENSORS]
    operands = None, *tensors, layer._form_text, ""
    for wrong in (x[:, :-1], x.float()):
        with pytest.raises(
            ValueError, match=rf"x must be \(\.\.\., {K}\) torch.float16 on cpu, got"
        ):
            linear_op.linear(wrong, *operands)


@pytest.fixture
def ran(monkeypatch):
    """The names of what would have computed, in place of computing."""
    names = []

    def noted(name, x, weight, config=None, epilogue=None, **options):
        names.append(name)
        return torch.zeros(len(x), weight.N, dtype=epilogue.y_dtype)

    def with_dense(x, weight, *others):
        names.append("DEQUANTIZE")
        return torch.zeros(len(x), weight.words.shape[1], dtype=others[-1].y_dtype)

    monkeypatch.setattr(linear_op, "matmul", noted)
    monkeypatch.setattr(linear_op, "product_with_dense", with_dense)
    monkeypatch.setattr(linear_op, "_by_library", with_dense)
    return names


@pytest.mark.parametrize("takes_dense", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_explain_names_what_runs(name, takes_dense, ran, monkeypatch):
    if not takes_dense:  # as on a GPU
        monkeypatch.setattr(Problem, "torch_is_sooner", False)
        monkeypatch.setattr(linear_op, "_prepared", linear_op._prepared.__wrapped__)
    layer = make(**KINDS[name]).layer
    kernels = {MATMUL_TYPES[kind]: kind for kind in KERNELS} | {"DEQUANTIZE": "DEQUANTIZE"}
    for M in (1, 2, 16, 64, 65, 128, 1000, 5000):
        layer(torch.zeros(M, K, dtype=layer.input_dtype.value))
        first = layer.explain(M).splitlines()[0]
        assert first.startswith(f"M = {M}: {kernels[ran.pop()]}, ")
        assert not ran


@pytest.mark.parametrize("takes_dense", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_forward_manual_runs_what_it_is_told(name, takes_dense, ran, monkeypatch):
    if not takes_dense:  # as on a GPU
        monkeypatch.setattr(Problem, "torch_is_sooner", False)
    layer = make(**KINDS[name]).layer
    x = torch.zeros(3, K, dtype=layer.input_dtype.value)
    for kind in KERNELS:
        layer.forward_manual(x, matmul_type=kind)
        assert ran.pop() == MATMUL_TYPES[kind]
    layer.forward_manual(x)
    assert ran.pop() == "gemm"
    explains = layer.explain(3).startswith("M = 3: DEQUANTIZE")
    if name in ("16 bits", "bf16") or explains:
        layer.forward_manual(x, "DEQUANTIZE")
        assert ran == ["DEQUANTIZE"]
    else:
        with pytest.raises(ValueError, match="DEQUANTIZE is for"):
            layer.forward_manual(x, "DEQUANTIZE")


def test_explain_says_what_happens(layer):
    text = layer.explain(1)
    assert "SHIFT_SCALE" in text and "(q - z) s" in text and "float32" in text
    assert "nothing" in text and "FP16" in text and "group_size=64" in text
    scaled = make(8, weights=torch.int8, x=DType.INT8, scaled=True).layer.explain(3)
    assert "its channel n and its token m" in scaled and "int32" in scaled
    assert "FMA" in make(2, 16, fma_mode=True).layer.explain()


def test_explain_does_not_promise_int32_where_groups_are_scaled():
    text = make(4, 32, x=DType.INT8, y=DType.FP32).layer.explain(3)
    assert "float32" in text.replace("y: FP32", "")


def test_repr_names_sizes_width_and_types(layer):
    assert repr(layer) == "GemLiteLinear(128 to 20, W4 per 64, FP16 to FP16)"
    assert repr(GemLiteLinear()) == "GemLiteLinear(empty)"
    assert "channel" in repr(make(8).layer)


# Wrong arguments


def built(*arguments, **options):
    usual = dict(W_nbits=4, group_size=64, in_features=K, out_features=N)
    return GemLiteLinear(*arguments, **usual | options)


def int8(**options):
    return built(input_dtype=DType.INT8, **options)


X = torch.ones(2, K).half()
WRONG = {
    **{
        f"W_nbits = {value!r}": (lambda value=value: built(W_nbits=value), "W_nbits must be")
        for value in (9, 0, -4, 32, 4.0, True, "4", [4], torch.tensor(4), float("nan"))
    },
    **{
        f"group_size = {value!r}": (lambda value=value: built(group_size=value), "group_size")
        for value in (0, -64, 48, 256, 64.0, True, "64", torch.tensor(64))
    },
    **{
        f"{name} = {value!r}": (
            lambda name=name, value=value: built(group_size=None, **{name: value}),
            f"{name} must be an int",
        )
        for name in ("in_features", "out_features")
        for value in (0, -1, 64.0, True, "64", None, torch.tensor(64))
    },
    **{
        f"{name} = {value!r}": (
            lambda name=name, value=value: built(**{name: value}),
            f"{name} must be one of",
        )
        for name in ("input_dtype", "output_dtype", "acc_dtype")
        for value in ("FP16", torch.float16, "fp16", 1, [DType.FP16], True)
    },
    **{
        f"scaled_activations = {value!r}": (
            lambda value=value: built(scaled_activations=value).pack(CODES, GROUPS, GROUPS),
            "scaled_activations",
        )
        for value in ("yes", None, 2, [])
    },
    "FP32 x": (lambda: built(input_dtype=DType.FP32), "input_dtype must be one of"),
    "INT32 x": (lambda: built(input_dtype=DType.INT32), "input_dtype must be one of"),
    "INT8 y": (lambda: built(output_dtype=DType.INT8), "output_dtype must be one of"),
    "BF16 sums": (lambda: built(acc_dtype=DType.BF16), "acc_dtype must be one of"),
    "INT32 sums of FP16": (lambda: built(acc_dtype=DType.INT32), "INT32 is for"),
    "FP16 sums of BF16": (
        lambda: built(input_dtype=DType.BF16, acc_dtype=DType.FP16),
        "FP16 is for",
    ),
    "FP16 sums of INT8": (lambda: int8(acc_dtype=DType.FP16), "FP16 is for"),
    "INT32 y of FP16": (
        lambda: built(output_dtype=DType.INT32).pack(CODES),
        "INT32 is for INT8 x",
    ),
    "INT32 y, scaled": (
        lambda: int8(output_dtype=DType.INT32).pack(CODES, GROUPS),
        "INT32 is for INT8 x",
    ),
    "INT32 y, a bias": (
        lambda: int8(output_dtype=DType.INT32).pack(CODES, None, None, torch.ones(N)),
        "INT32 is for INT8 x",
    ),
    "INT32 y, tokens scaled": (
        lambda: int8(output_dtype=DType.INT32, scaled_activations=True).pack(CODES),
        "INT32 is for INT8 x",
    ),
    "pack of an empty layer": (lambda: GemLiteLinear().pack(CODES), "this layer is empty"),
    "no weights": (lambda: built()(X), "no weights yet"),
    "no weights, manual": (lambda: built().forward_manual(X, "DEQUANTIZE"), "no weights yet"),
    "an empty layer": (lambda: GemLiteLinear()(X), "no weights yet"),
    "an empty layer, manual": (lambda: GemLiteLinear().forward_manual(X), "no weights yet"),
    "a code too large": (lambda: built().pack(CODES | 16), "4 bits end at 15"),
    "codes of int32": (lambda: built().pack(CODES.int()), "W_q must be a torch.uint8"),
    "codes of int64": (lambda: built().pack(CODES.long()), "W_q must be a torch.uint8"),
    "codes of bool": (lambda: built().pack(CODES > 3), "W_q must be a torch.uint8"),
    "codes of complex": (lambda: built().pack(CODES + 0j), "W_q must be"),
    "codes as floats": (lambda: built().pack(CODES.float()), "W_q of 4 bits"),
    "codes as int8": (lambda: built().pack(CODES.char()), "W_q of 4 bits"),
    "fp16 as 8 bits": (lambda: built(W_nbits=8).pack(CODES.half()), "W_q of 8 bits"),
    "bf16 for FP16 x": (
        lambda: built(W_nbits=16, group_size=None).pack(CODES.bfloat16()),
        "W_q of 16 bits",
    ),
    "codes of 16 bits": (lambda: built(W_nbits=16).pack(CODES), "W_q of 16 bits"),
    "fp8 for INT8 x": (
        lambda: int8(W_nbits=8, group_size=None).pack(CODES.half().to(E4M3)),
        "INT8 x takes int8 weights|W_q of 8 bits",
    ),
    "no tensor": (lambda: built().pack(CODES.tolist()), "W_q must be a torch.Tensor, got list"),
    "an array": (lambda: built().pack(CODES.numpy()), "W_q must be a torch.Tensor, got ndarray"),
    "None": (lambda: built().pack(None), "W_q must be a torch.Tensor, got NoneType"),
    "W_q transposed": (lambda: built().pack(CODES.T), "W_q must have shape"),
    "W_q flat": (lambda: built().pack(CODES.flatten()), "W_q must have shape"),
    "W_q of three dimensions": (lambda: built().pack(CODES[None]), "W_q must have shape"),
    "W_q too short": (lambda: built().pack(CODES[:, :100]), "W_q must have shape"),
    "W_q empty": (lambda: built().pack(CODES[:0]), "W_q must have shape"),
    "W_q sparse": (lambda: built().pack(CODES.to_sparse()), "W_q must be a dense"),
    "W_q on meta": (lambda: built().pack(CODES.to("meta")), "W_q"),
    "3-bit words": (
        lambda: built(W_nbits=3).pack(torch.zeros(N, 13, dtype=torch.int32)),
        "W_q must",
    ),
    "words of int64": (
        lambda: built().pack(torch.zeros(N, K // 16, dtype=torch.int64)),
        "must be a torch.int32, int16 or uint8|W_q must",
    ),
    "W that requires grad": (
        lambda: built(W_nbits=16, group_size=None).pack(torch.randn(N, K).half().requires_grad_()),
        "W_q requires grad",
    ),
    **{
        f"{name} {label}": (
            lambda name=name, value=value: built().pack(CODES, **{name: value}),
            name,
        )
        for name in ("scales", "zeros")
        for label, value in {
            "of int32": GROUPS.int(),
            "of uint8": GROUPS.byte(),
            "of bool": GROUPS > 1,
            "complex": GROUPS + 0j,
            "a truth value": True,
            "a text": "1",
            "a list": [1.0],
            "an array": GROUPS.numpy(),
            "of too many groups": torch.ones(N, 4),
            "beyond float32": 1e39,
            "sparse": GROUPS.to_sparse(),
            "on meta": GROUPS.to("meta"),
            "that require grad": GROUPS.clone().requires_grad_(),
        }.items()
    },
    **{
        f"bias {label}": (
            lambda value=value: built().pack(CODES, GROUPS, GROUPS, value),
            "bias",
        )
        for label, value in {
            "a number": 1.0,
            "a list": [1.0] * N,
            "too long": torch.ones(N + 1),
            "of two dimensions": torch.ones(1, N),
            "of no dimension": torch.tensor(1.0),
            "complex": torch.ones(N) + 0j,
            "of integers": torch.ones(N, dtype=torch.int32),
            "sparse": torch.ones(N).to_sparse(),
            "on meta": torch.ones(N, device="meta"),
        }.items()
    },
    **{
        f"{label} that is not finite": (lambda names=names: built().pack(CODES, **names), sentence)
        for label, names, sentence in (
            ("a scale", {"scales": GROUPS * torch.nan}, "^scales must be finite, got a NaN"),
            ("a scale per channel", {"scales": torch.inf}, "^scales must be finite, got a NaN"),
            ("a zero", {"scales": GROUPS, "zeros": torch.nan}, "^zeros must be finite, got a NaN"),
            ("a bias", {"bias": torch.full((N,), torch.nan)}, "^bias must be finite, got a NaN"),
        )
    },
    **{
        f"INT8 x, zeros {label}": (
            lambda value=value: int8().pack(CODES, GROUPS, value),
            "whole zeros|zeros must be finite",
        )
        for label, value in {
            "of a half": 7.5,
            "with fractions": GROUPS,
            "with fractions in fp16": GROUPS.half(),
            "too large": 1e6,
            "too small": -1e6,
            "NaN": float("nan"),
            "infinite": torch.full((N, 2), torch.inf),
        }.items()
    },
    "zeros of int8 weights": (
        lambda: built(W_nbits=8, group_size=None).pack(CODES.char(), 1.0, 8.0),
        "zeros are for uint8 codes",
    ),
    "zeros of fp8 weights": (
        lambda: built(W_nbits=8, group_size=None).pack(CODES.half().to(E4M3), 1.0, CHANNELS),
        "zeros are for uint8 codes",
    ),
    "groups of int8 weights": (
        lambda: built(W_nbits=8).pack(CODES.char(), torch.ones(N, 2)),
        "group|scales must",
    ),
    **{
        f"packing_bitwidth = {value!r}": (
            lambda value=value: built().pack(CODES, packing_bitwidth=value),
            "word_bits|packing_bitwidth",
        )
        for value in (64, 4, 0, "32", True, 32.0)
    },
    "3-bit codes in bytes": (
        lambda: built(W_nbits=3).pack(CODES & 7, packing_bitwidth=8),
        "word_bits|packing_bitwidth",
    ),
    **{
        f"x {label}": (lambda value=value: built().pack(CODES, GROUPS, GROUPS)(value), "^x ")
        for label, value in {
            "of float32": X.float(),
            "of bf16": X.bfloat16(),
            "of int8": X.char(),
            "complex": X.float() + 0j,
            "a list": X.tolist(),
            "an array": X.numpy(),
            "None": None,
            "a number": 1.0,
            "of no dimension": X[0, 0],
            "too short": X[:, :100],
            "transposed": X.T,
            "empty": X[:, :0],
            "on meta": X.to("meta"),
            "sparse": X.to_sparse(),
        }.items()
    },
    "int8 x of a scaled layer": (
        lambda: int8(scaled_activations=True).pack(CODES)(X.char()),
        "^x must be",
    ),
    **{
        f"matmul_type = {value!r}": (
            lambda value=value: built().pack(CODES).forward_manual(X, value),
            "matmul_type must be one of GEMV",
        )
        for value in ("gemm", "", None, 1, "GEMM_A16", ["GEMM"])
    },
    **{
        f"explain({value!r})": (lambda value=value: built().pack(CODES).explain(value), "M must be")
        for value in (-1, 1.5, True, "3", None)
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_gets_one_sentence(name):
    use, sentence = WRONG[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as refused:
        use()
    text = str(refused.value)
    assert "\n" not in text and 15 < len(text) < 250
    assert refused.type in (ValueError, TypeError)


# Around it


def test_threads_do_not_disturb_each_other(layer, x):
    y, answers, errors = layer(x), [], []

    def work():
        try:
            answers.extend(torch.equal(layer(x), y) for _ in range(2))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and answers == [True] * 6


def test_autocast_leaves_it_alone(layer, x):
    y = layer(x)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(x), y)


def test_import_needs_no_gpu_and_says_nothing():
    code = "import gemlite_edu.core, sys; assert 'triton' not in sys.modules, 'slow import'"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_token_scales_and_many_rows_do_not_overflow_before_they_are_scaled():
    q = quantize_linear(torch.randn(N, K, generator=torch.Generator().manual_seed(0)), 4)
    layer = GemLiteLinear(4, None, K, N, scaled_activations=True).pack(q.W_q, q.scales, q.zeros)
    layer.scale_activations = lambda x: ((x * 1000).half(), torch.full((len(x), 1), 1e-3))
    x = activations(70, K)
    expected = reference.matmul(x, q.dequantize(torch.float64))
    assert (layer(x).double() - expected).norm() / expected.norm() < 2**-9


def test_autocast_changes_no_type():
    q = quantize_linear(torch.randn(N, K), 4)
    layer = GemLiteLinear(4, None, K, N).pack(q.W_q, q.scales, q.zeros)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert [layer(activations(M, K)).dtype for M in (4, 70)] == [torch.float16] * 2


def test_autocast_gives_it_x_of_its_own_dtype(layer):
    x = activations(3, K)
    with pytest.raises(TypeError, match="x must be torch.float16, got torch.float32"):
        layer(x.float())
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(x.float()), layer(x))


@pytest.mark.parametrize(
    ("input_dtype", "zero", "fits"),
    [
        (DType.FP16, 128.0, True),
        (DType.FP16, 0.0, True),
        (DType.FP16, -2.0, False),
        (DType.BF16, 128.0, False),
    ],
)
def test_dense_weights_are_not_used_where_they_lose_the_codes(input_dtype, zero, fits):
    """fp16 holds 11 bits of a weight and bf16 8: of these some go to the distance from the zero."""
    q = quantize_linear(torch.randn(N, K), 8)
    layer = GemLiteLinear(8, None, K, N, input_dtype, input_dtype)
    layer.pack(q.W_q, q.scales, torch.full((N, 1), zero))
    assert fits == ("DEQUANTIZE" in layer.explain(M=1000, machine=None).splitlines()[0])


@pytest.mark.parametrize(
    "nbits, smallest, fits",
    [
        (4, 2.0**-14, True),
        (4, 1.0001 * 2.0**-14, True),
        (4, 2.0**-15, False),
        (2, 2.0**-15, False),
        (8, 2.0**-18, True),
        (8, 1.0001 * 2.0**-18, False),
        (8, 2.0**-19, False),
    ],
)
def test_small_scales_keep_dense_weights(nbits, smallest, fits):
    """Of 8 bits they may be below the normal numbers of fp16, if they are numbers of it."""
    W_q = torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8)
    scales = torch.full((N, 1), 2.0**-6)
    scales[3] = smallest
    layer = GemLiteLinear(nbits, None, K, N).pack(W_q, scales, 2.0 ** (nbits - 1))
    assert fits == ("DEQUANTIZE" in layer.explain(M=1000, machine=None).splitlines()[0])


def test_words_over_columns_may_be_transposed_as_gemlite_keeps_them():
    W_q = torch.randint(0, 16, (N, K), dtype=torch.uint8)
    words = pack_over_cols(W_q, 4).T
    layers = [GemLiteLinear(4, None, K, N).pack(weights, 1.0, 8.0) for weights in (W_q, words)]
    assert torch.equal(layers[0].W_q, layers[1].W_q)


def test_words_of_a_square_layer_that_may_be_either_are_refused():
    W_q = torch.randint(0, 16, (64, 64), dtype=torch.uint8)
    with pytest.raises(ValueError, match="may be packed over rows, or over columns and transposed"):
        GemLiteLinear(4, None, 64, 64).pack(pack_over_rows(W_q, 4), 1.0, 8.0)


def test_sizes_without_a_width_are_refused():
    with pytest.raises(ValueError, match="W_nbits must be"):
        GemLiteLinear(group_size=32, in_features=64, out_features=64)


def test_a_saved_layer_of_int8_x_with_zeros_that_are_not_whole_is_refused():
    q = quantize_linear(torch.randn(N, K), 4)
    layer = GemLiteLinear(4, None, K, N, DType.INT8, DType.FP32).pack(q.W_q, q.scales, 8.0)
    state = layer.state_dict()
    state["zeros"] = state["zeros"] + 0.5
    with pytest.raises(RuntimeError, match="INT8 x takes whole zeros"):
        GemLiteLinear().load_state_dict(state)
