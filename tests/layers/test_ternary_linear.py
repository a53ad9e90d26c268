"""BitLinear and its op: two steps in integers, the numbers of two projects, torch around it."""

import copy
import pickle

import pytest
import torch
from safetensors.torch import load_file, save_file
from ternary_cases import is_rounded_well, sums_of
from torch._subclasses import FakeTensorMode

from gemlite_edu import (
    BitLinear,
    ScaleConvention,
    pack_bitnet_2bit,
    quantize_activations_int8,
    quantize_ternary,
    unpack_bitnet_2bit,
)
from gemlite_edu.kernels.machine import AMPERE, H200
from gemlite_edu.kernels.ternary_fast import LONGEST_K
from gemlite_edu.operators.choose import TERNARY_RULES, TernaryProblem, choose
from gemlite_edu.operators.ternary_op import a8w2
from gemlite_edu.packing import FRAGMENTS, to_fragments

N, K = 21, 100
FP16, BF16, FP32 = torch.float16, torch.bfloat16, torch.float32
MS = [1, 2, 4, 5, 8, 9, 16, 17, 65]
op = torch.ops.gemlite_edu.a8w2
every_type = pytest.mark.parametrize("dtype", [FP16, BF16, FP32], ids=str)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def activations(*shape, dtype=FP32, seed=4):
    return torch.randn(*shape, generator=seeded(seed)).to(dtype)


def linear_of(bias=False, N=N, K=K, dtype=FP32):
    torch.manual_seed(0)
    return torch.nn.Linear(K, N, bias=bias).to(dtype)


def layer_of(bias=False, differ=True, **sizes):
    """differ: each output has its own scale."""
    layer = BitLinear.from_linear(linear_of(bias, **sizes))
    if differ:
        layer.scales *= 0.5 + torch.rand(layer.scales.shape, generator=seeded(1))
    return layer


def codes_of(layer):
    return unpack_bitnet_2bit(layer.W_packed, layer.out_features, layer.in_features)


def exact(layer, x):
    """y without bias, fp64: codes of x and of W multiplied in int64, and two scales."""
    x_q, token_scales = quantize_activations_int8(x)
    rows = x_q.reshape(-1, layer.in_features)
    sums = sums_of(rows, codes_of(layer)).double()
    y = sums * token_scales.double() * layer.scales.double().T
    return y.reshape(*x.shape[:-1], layer.out_features)


def assert_right(y, layer, x):
    expected = exact(layer, x)
    assert (y.dtype, y.shape) == (x.dtype, expected.shape)
    assert is_rounded_well(y, expected)


# The product


@every_type
@pytest.mark.parametrize("M", MS)
def test_it_is_two_steps_in_integers(M, dtype):
    layer, x = layer_of(), activations(M, K, dtype=dtype)
    assert_right(layer(x), layer, x)


@pytest.mark.parametrize("M", MS)
def test_powers_of_two_are_exact(M):
    """|x| up to 127, so that a step of x is 1, and no scale rounds."""
    layer = layer_of()
    layer.scales = 2.0 ** torch.randint(-6, 0, (N, 1), generator=seeded(2))
    x = torch.randint(-127, 128, (M, K), generator=seeded(3)).float()
    x[:, 0] = 127
    expected = sums_of(x, codes_of(layer)) * layer.scales.double().T
    for dtype in (FP16, BF16, FP32):
        assert torch.equal(layer(x.to(dtype)), expected.to(dtype))


def test_the_kernel_is_chosen_by_the_number_of_tokens_and_the_gpu():
    def chosen(M, machine=H200, K=4096):
        return choose(TernaryProblem(M, K, machine), TERNARY_RULES).matmul_type

    assert {chosen(M) for M in (0, 1, 8)} == {"gemv_a8w2_dp4a"}
    assert {chosen(M) for M in (9, 10_000)} == {"gemm_a8w2_fast"}
    assert chosen(9, H200._replace(capability=AMPERE)) == "gemm_a8w2_wmma"
    assert chosen(16, K=LONGEST_K) == "gemm_a8w2_fast"
    assert chosen(16, K=LONGEST_K + 1) == "gemm_a8w2_wmma"


def test_a_longer_K_than_the_fast_product_takes():
    layer, x = layer_of(N=16, K=LONGEST_K + 1), activations(16, LONGEST_K + 1)
    assert_right(layer(x), layer, x)


@every_type
@pytest.mark.parametrize("shape", [(K,), (1, K), (2, 3, K), (2, 1, 3, K), (0, K), (2, 0, K)])
def test_rows_may_have_any_shape(shape, dtype):
    layer, x = layer_of(), activations(*shape, dtype=dtype)
    assert_right(layer(x), layer, x)


def test_x_need_not_be_contiguous():
    layer, x = layer_of(), activations(4, 3, K)
    beside = torch.cat([x[..., :1], x], dim=-1)[..., 1:]
    for other in (x.transpose(0, 1), activations(3, 2 * K)[:, ::2], x[:1].expand(4, 3, K), beside):
        assert not other.is_contiguous()
        assert torch.equal(layer(other), layer(other.contiguous()))


@every_type
@pytest.mark.parametrize("bias_dtype", [FP16, FP32])
def test_a_bias_is_added_once(dtype, bias_dtype):
    layer, x = layer_of(bias=True), activations(2, 3, K, dtype=dtype)
    layer.bias = layer.bias.to(bias_dtype)
    without = copy.deepcopy(layer)
    without.bias = None
    assert layer.bias.any()
    assert torch.equal(layer(x), without(x) + layer.bias.to(dtype))


@every_type
def test_a_token_without_numbers_stays_alone(dtype):
    layer, x = layer_of(), activations(6, K, dtype=dtype)
    expected = layer(x)
    x[1, 3], x[4, 0] = torch.nan, torch.inf
    y = layer(x)
    assert y[[1, 4]].isnan().all()
    assert torch.equal(y[[0, 2, 3, 5]], expected[[0, 2, 3, 5]])


@every_type
def test_tokens_of_zeros_and_small_ones(dtype):
    x = torch.zeros(3, K, dtype=dtype)
    x[1], x[2, 5] = 2e-6, 1
    layer = layer_of()
    y = layer(x)
    assert_right(y, layer, x)
    assert (y[0] == 0).all()


def test_tokens_do_not_depend_on_each_other():
    layer, x = layer_of(), activations(17, K)
    y = layer(x)
    assert all(torch.equal(layer(x[:M]), y[:M]) for M in MS if M < 17)


# From other layers


@every_type
@pytest.mark.parametrize("bias", [False, True])
def test_a_linear_layer_becomes_its_ternary_weights(dtype, bias):
    linear = linear_of(bias, dtype=dtype)
    before = copy.deepcopy(linear.state_dict())
    layer = BitLinear.from_linear(linear)
    q = quantize_ternary(linear.weight)
    assert torch.equal(codes_of(layer), q.W_q)
    assert torch.equal(layer.scales, q.scales.expand(N, 1)) and layer.scales.dtype == FP32
    assert torch.equal(layer.bias, linear.bias) if bias else layer.bias is None
    x = activations(3, K)
    y = layer(x)
    assert all(torch.equal(linear.state_dict()[name], before[name]) for name in before)
    with torch.no_grad():
        for parameter in linear.parameters():
            parameter.zero_()
    assert torch.equal(layer(x), y)


def test_ternary_weights_come_back_exactly():
    """Of a layer that is ternary already, with as many 0 as others, only x is rounded."""
    linear = torch.nn.Linear(96, 6, bias=False)
    W = torch.tensor([-1.0, 0.0, 1.0, 0.0]).repeat(6, 24)
    linear.weight.data = W / 2
    layer = BitLinear.from_linear(linear)
    assert torch.equal(codes_of(layer).float() - 2, W)
    x = activations(5, 96)
    off = layer(x) / layer.scales.T * 0.5 - linear(x)
    step = x.abs().amax(1, keepdim=True) / 127
    assert (off.abs() <= step / 2 * 0.5 * W.abs().sum(1) * 1.001).all()


CONVENTIONS = {
    ScaleConvention.MULTIPLY: lambda scales: scales,
    ScaleConvention.BITNET: lambda scales: scales,
    ScaleConvention.BITMEDVIT: lambda scales: 1 / scales,
}


@pytest.mark.parametrize("convention", ScaleConvention)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (N,), (N, 1)], ids=str)
def test_words_and_factors_of_each_convention(convention, shape):
    W_q = torch.randint(1, 4, (N, K), generator=seeded(5)).to(torch.uint8)
    scales = 2.0 ** torch.randint(-4, 4, shape, generator=seeded(6))
    layer = BitLinear.from_packed(
        pack_bitnet_2bit(W_q), CONVENTIONS[convention](scales), K, N, convention=convention
    )
    assert layer.scales.dtype == FP32
    assert torch.equal(layer.scales, scales.reshape(-1, 1).expand(N, 1))
    x = activations(5, K)
    assert torch.equal(codes_of(layer), W_q)
    assert_right(layer(x), layer, x)


def test_bitnets_own_words_and_arithmetic():
    """int8 (N, K / 4), bfloat16 ws, and y as BitNet's kernel has it: sum / s * ws."""
    N, K = 32, 128
    W_q = torch.randint(1, 4, (N, K), generator=seeded(5)).to(torch.uint8)
    stored = pack_bitnet_2bit(W_q).view(torch.int8)
    assert stored.shape == (N, K // 4)
    ws = torch.tensor([0.0371], dtype=BF16)
    bitnet = ScaleConvention.BITNET
    layer = BitLinear.from_packed(stored.view(torch.int32), ws, K, N, convention=bitnet)
    x = activations(6, K, dtype=BF16)
    s = 127 / x.float().abs().amax(1, keepdim=True).clamp(min=1e-5)
    sums = sums_of((x * s).round().clamp(-128, 127), W_q)
    torch.testing.assert_close(
        layer(x).double(), sums / s.double() * ws.double(), rtol=2**-8, atol=0
    )


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_words_in_the_order_of_fragments(fragment):
    from gemlite_edu.packing import from_fragments

    N = 40
    W_q = torch.randint(1, 4, (N, K), generator=seeded(5)).to(torch.uint8)
    words, ws = pack_bitnet_2bit(W_q), torch.rand(N, generator=seeded(6)) + 0.5
    theirs = to_fragments(words, fragment, K)
    layer, same = (
        BitLinear.from_packed(own, ws, K, N, convention=ScaleConvention.BITMEDVIT)
        for own in (from_fragments(theirs, fragment, N, K), words)
    )
    x = activations(3, K)
    assert torch.equal(layer(x), same(x))


def test_a_layer_shares_nothing_with_what_it_was_made_of():
    W_packed, ws = pack_bitnet_2bit(torch.ones(N, K, dtype=torch.uint8)), torch.rand(N, 1) + 1
    bias, x = torch.ones(N), activations(2, K)
    layer = BitLinear.from_packed(W_packed, ws, K, N, bias)
    y = layer(x)
    for tensor in (W_packed, ws, bias):
        tensor.zero_()
    assert torch.equal(layer(x), y)


def test_what_a_layer_is_made_of_may_require_grad():
    W_packed = pack_bitnet_2bit(torch.ones(N, K, dtype=torch.uint8))
    ws, bias = (torch.ones(N).requires_grad_() for _ in range(2))
    layer = BitLinear.from_packed(W_packed, ws, K, N, bias)
    assert not any(buffer.requires_grad for buffer in layer.buffers())
    assert not layer(activations(2, K)).requires_grad


# Frozen


def test_there_is_nothing_to_train():
    layer = layer_of(bias=True)
    assert not list(layer.parameters())
    layer.requires_grad_(True)
    assert not layer(activations(2, K)).requires_grad


@every_type
def test_a_gradient_of_x_is_refused_unless_gradients_are_off(dtype):
    layer, x = layer_of(bias=True), activations(2, K, dtype=dtype).requires_grad_()
    with pytest.raises(ValueError, match="x requires grad and this kernel has no backward"):
        layer(x)
    with torch.no_grad():
        assert torch.equal(layer(x), layer(x.detach()))


@every_type
def test_scales_that_require_grad_are_refused_unless_gradients_are_off(dtype):
    layer, x = layer_of(), activations(2, K, dtype=dtype)
    expected = layer(x)
    layer.scales.requires_grad_()
    with pytest.raises(ValueError, match="scales requires grad and this kernel has no backward"):
        layer(x)
    with torch.no_grad():
        assert torch.equal(layer(x), expected)


# In the company of torch


@pytest.fixture
def fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("M", [0, 3, 6, 20])
def test_the_op_is_registered_as_torch_asks(M):
    layer = layer_of()
    x_q, token_scales = quantize_activations_int8(activations(M, K))
    for dtype in (FP16, FP32):
        torch.library.opcheck(op, (x_q, layer.W_packed, layer.scales, token_scales, N, dtype))


def test_the_op_takes_what_the_kernel_takes():
    layer, x = layer_of(), activations(3, K)
    x_q, token_scales = quantize_activations_int8(x)
    for dtype in (FP16, BF16, FP32):
        y = a8w2(x_q, layer.W_packed, layer.scales, token_scales, N, dtype)
        flat = a8w2(x_q, layer.W_packed, layer.scales[:, 0], token_scales[:, 0], N, dtype)
        assert y.dtype == dtype and torch.equal(y, flat)
        assert is_rounded_well(y, exact(layer, x))


@every_type
@pytest.mark.parametrize("M", [3, 6, 20])
def test_torch_compile_takes_it_whole(fresh_compiler, M, dtype):
    """aot_eager: torch's own arithmetic, bit for bit."""
    model = torch.nn.Sequential(layer_of(bias=True), torch.nn.ReLU())
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    x = activations(M, K, dtype=dtype)
    assert torch.equal(compiled(x), model(x))


def test_torch_compile_into_one_kernel(fresh_compiler):
    """Its division may be off by a last bit, which whole numbers up to 127 do not notice."""
    model = torch.nn.Sequential(layer_of(bias=True), torch.nn.GELU())
    x = torch.randint(-127, 128, (5, K), generator=seeded(3)).float()
    x[:, 0] = 127
    compiled = torch.compile(model, fullgraph=True)
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)


def test_one_graph_for_any_number_of_rows(fresh_compiler):
    layer = layer_of(bias=True)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    compiled(activations(4, K))
    with torch.compiler.set_stance("fail_on_recompile"):
        for M in (2, 3, 7, 17):
            x = activations(M, K)
            assert torch.equal(compiled(x), layer(x))


def test_a_layer_on_meta_has_shapes_and_types():
    layer = layer_of(bias=True).to("meta")
    for dtype in (FP16, BF16, FP32):
        y = layer(torch.empty(2, 3, K, dtype=dtype, device="meta"))
        assert (y.shape, y.dtype, y.device.type) == ((2, 3, N), dtype, "meta")


def test_fake_tensors():
    with FakeTensorMode():
        y = BitLinear(K, N, bias=True)(torch.empty(5, K, dtype=FP16))
    assert (y.shape, y.dtype) == ((5, N), FP16)


def test_inference_mode():
    layer, x = layer_of(), activations(3, K)
    expected = layer(x)
    with torch.inference_mode():
        assert torch.equal(layer(x), expected)


# Kept, copied, moved


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_a_copy_is_the_same_layer_and_shares_nothing(copied):
    layer, x = layer_of(bias=True), activations(3, K)
    other, expected = copied(layer), layer(x)
    for buffer in layer.buffers():
        buffer.zero_()
    assert torch.equal(other(x), expected) and repr(other) == repr(layer)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("assign", [False, True])
def test_a_state_goes_into_an_empty_layer(bias, assign, tmp_path):
    layer, x = layer_of(bias), activations(3, K)
    save_file(layer.state_dict(), tmp_path / "layer.safetensors")
    state = load_file(tmp_path / "layer.safetensors")
    assert state.keys() == {"W_packed", "scales", *(["bias"] if bias else [])}
    assert state["W_packed"].nbytes == 32 * 128 // 4
    empty = BitLinear(K, N, bias=bias)
    torch.nn.Sequential(empty).load_state_dict(
        {f"0.{name}": tensor for name, tensor in state.items()}, assign=assign
    )
    assert torch.equal(empty(x), layer(x))


@pytest.mark.parametrize("name", ["W_packed", "scales", "bias"])
def test_an_incomplete_state_is_refused(name):
    state = layer_of(bias=True).state_dict()
    del state[name]
    with pytest.raises(RuntimeError, match=f"Missing key.*{name}"):
        BitLinear(K, N, bias=True).load_state_dict(state)


def test_a_state_of_another_size_is_refused():
    with pytest.raises(RuntimeError, match="size mismatch for W_packed"):
        BitLinear(K, 40).load_state_dict(layer_of().state_dict())


def test_an_empty_layer_gives_nothing():
    y = BitLinear(K, N)(activations(2, K))
    assert y.shape == (2, N) and (y == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, BF16], ids=str)
def test_the_default_type_of_torch_changes_nothing(dtype):
    linear, x = linear_of(bias=True), activations(3, K)
    layer = BitLinear.from_linear(linear)
    torch.set_default_dtype(dtype)
    try:
        empty = BitLinear(K, N, bias=True)
        again = BitLinear.from_linear(linear)
        y = again(x)
    finally:
        torch.set_default_dtype(FP32)
    assert empty.scales.dtype == again.scales.dtype == FP32
    assert torch.equal(y, layer(x))


def test_another_type_of_the_model_leaves_scales_and_words_alone():
    layer = layer_of(bias=True)
    layer.scales *= 1e-8
    before = {name: buffer.clone() for name, buffer in layer.named_buffers()}
    model = torch.nn.Sequential(layer, torch.nn.Linear(N, 2))
    for change in ("half", "bfloat16", "double", "float", "half"):
        getattr(model, change)()
        for name in ("W_packed", "scales"):
            assert layer.get_buffer(name).dtype == before[name].dtype
            assert torch.equal(layer.get_buffer(name), before[name])
    assert model[1].weight.dtype == FP16
    assert model(activations(2, K, dtype=FP16)).dtype == FP16


def test_it_moves_to_a_device_and_another_type_at_once():
    layer = layer_of(bias=True).to("meta", FP16)
    assert all(buffer.device.type == "meta" for buffer in layer.buffers())
    assert layer.scales.dtype == FP32 and layer.W_packed.dtype == torch.int32


def test_a_layer_says_what_it_is():
    text = "BitLinear(in_features=100, out_features=21, bias={})"
    assert repr(layer_of(bias=True)) == text.format(True)
    assert repr(BitLinear(K, N)) == text.format(False)


# Errors

WORDS = pack_bitnet_2bit(torch.ones(N, K, dtype=torch.uint8))


def from_packed(W_packed=WORDS, ws=None, in_features=K, out_features=N, **options):
    ws = torch.ones(1) if ws is None else ws
    return BitLinear.from_packed(W_packed, ws, in_features, out_features, **options)


WRONG_USES = {
    "fewer columns": (
        ValueError,
        lambda: layer_of()(activations(2, K - 1)),
        r"x must be \(\.\.\., 100\), got \(2, 99\)",
    ),
    "a number": (ValueError, lambda: layer_of()(torch.tensor(1.0)), r"x must be .*got \(\)"),
    "int8 x": (
        TypeError,
        lambda: layer_of()(torch.ones(2, K, dtype=torch.int8)),
        "x must be torch.float16, torch.bfloat16 or torch.float32, got torch.int8",
    ),
    "fp64 x": (TypeError, lambda: layer_of()(activations(2, K).double()), "got torch.float64"),
    "a list": (TypeError, lambda: layer_of()([1.0]), "x must be a torch.Tensor, got list"),
    "x elsewhere": (
        ValueError,
        lambda: layer_of()(activations(2, K).to("meta")),
        "x is on meta and the layer on cpu: move one",
    ),
    "no inputs": (
        ValueError,
        lambda: BitLinear(0, 3),
        "in_features must be an int of at least 1, got 0",
    ),
    "outputs as a float": (ValueError, lambda: BitLinear(3, 2.0), r"out_features .* got 2\.0"),
    "True inputs": (ValueError, lambda: BitLinear(True, 3), "in_features must be .*got True"),
    "a weight for from_linear": (
        TypeError,
        lambda: BitLinear.from_linear(torch.ones(3, 4)),
        "from_linear takes a torch.nn.Linear, got Tensor",
    ),
    "a layer without numbers": (
        ValueError,
        lambda: BitLinear.from_linear(torch.nn.Linear(8, 4, device="meta")),
        "the weight has no numbers: it is on meta",
    ),
    "words of another size": (
        ValueError,
        lambda: from_packed(out_features=40),
        r"2-bit codes \(40, 100\) take words \(48, 8\), got \(32, 8\)",
    ),
    "words as BitNet stores them": (
        TypeError,
        lambda: from_packed(WORDS.view(torch.int8)),
        "W_packed must be a torch.int32 tensor, got torch.int8",
    ),
    "words as a list": (TypeError, lambda: from_packed([1]), "W_packed must be .*got list"),
    "ws of too few": (
        ValueError,
        lambda: from_packed(ws=torch.ones(4)),
        r"ws must have one element or one for each of 21 outputs, got \(4,\)",
    ),
    "whole ws": (
        TypeError,
        lambda: from_packed(ws=torch.ones(1).int()),
        "must be a floating-point tensor, got torch.int32",
    ),
    "ws as a number": (
        TypeError,
        lambda: from_packed(ws=0.5),
        "must be a floating-point tensor, got float",
    ),
    "bias of another size": (
        ValueError,
        lambda: from_packed(bias=torch.ones(20)),
        r"bias must have shape \(21,\), got \(20,\)",
    ),
    "bias of rank 2": (
        ValueError,
        lambda: from_packed(bias=torch.ones(21, 1)),
        r"bias must have shape \(21,\), got \(21, 1\)",
    ),
    "bias as a number": (
        (TypeError, ValueError),
        lambda: from_packed(bias=1.0),
        "bias must be .*got float",
    ),
    "a convention by its name": (
        (TypeError, ValueError),
        lambda: from_packed(convention="bitnet"),
        "convention must be .*ScaleConvention.*",
    ),
}


@pytest.mark.parametrize("error, use, named", WRONG_USES.values(), ids=WRONG_USES.keys())
def test_a_wrong_use_is_named_in_one_sentence(error, use, named):
    with pytest.raises(error, match=named) as caught:
        use()
    assert "\n" not in str(caught.value)
