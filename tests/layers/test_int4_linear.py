"""Int4Linear and its op: the product, what goes back through it, and what it is put into."""

import copy
import pickle

import pytest
import torch
from int4_cases import BF16, FP16, FP32, PLAIN, S4, SLICED, T_VIEW, U4, laid_out
from safetensors.torch import load_file, save_file
from test_helper import REFUSED, FakeHQQ
from torch._subclasses import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from gemlite_edu import Int4Linear, pack_2xint4, quantize_linear, unpack_2xint4
from gemlite_edu.layers.int4_linear import mixed_mm
from gemlite_edu.numbers import bounds, reference

N, K, GROUP = 12, 32, 8
FP64 = torch.float64
op = torch.ops.gemlite_edu.mixed_mm
every_type = pytest.mark.parametrize("dtype", [FP16, BF16, FP32, FP64], ids=str)
both_codes = pytest.mark.parametrize("codes", [U4, S4], ids=["u4", "s4"])


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def weight(codes=U4, dtype=FP32, group_size=GROUP, N=N, K=K):
    """(packed, scales, zeros, group_size)."""
    low = -8 if codes == S4 else 0
    W_q = torch.randint(low, low + 16, (N, K), generator=seeded(1)).to(codes)
    shape = K // group_size, N
    scales = 0.01 + torch.rand(shape, generator=seeded(2)) / 8
    zeros = torch.rand(shape, generator=seeded(3)) * 15 + low
    return pack_2xint4(W_q.T), scales.to(dtype), zeros.to(dtype), group_size


def layer_of(codes=U4, dtype=FP32, bias=None, **sizes):
    return Int4Linear(*weight(codes, dtype, **sizes), bias)


def dense(layer):
    """W (N, K), fp64, from the buffers alone."""
    codes = unpack_2xint4(layer.packed.T).double()
    scales, zeros = (
        t.double().repeat_interleave(layer.group_size, dim=0) for t in (layer.scales, layer.zeros)
    )
    return ((codes - zeros) * scales).T


def activations(*shape, dtype=FP32, seed=4):
    return torch.randn(*shape, generator=seeded(seed)).to(dtype)


def assert_product(y, x, W):
    """y = x W^T, off by no more than sums in fp32 are; fp64: in fp64."""
    if y.dtype == FP64:
        torch.testing.assert_close(y, x @ W.T, rtol=1e-12, atol=1e-12)
        return
    error = (y.double() - reference.matmul(x, W)).abs()
    assert (error <= bounds.error_bound(x, W, y.dtype)).all()


# Forward and backward


@every_type
@both_codes
@pytest.mark.parametrize("group_size", [1, 8, 32])
def test_y_and_the_gradient_of_x_are_products_with_W(group_size, codes, dtype):
    layer = layer_of(codes, group_size=group_size)
    x = activations(5, K, dtype=dtype).requires_grad_()
    dy = activations(5, N, dtype=dtype, seed=5)
    y = layer(x)
    y.backward(dy)
    assert y.dtype == x.grad.dtype == dtype
    assert_product(y.detach(), x.detach(), dense(layer))
    assert_product(x.grad, dy, dense(layer).T)


@both_codes
@pytest.mark.parametrize("transposed", [False, True])
def test_the_op_has_the_right_gradients_of_first_and_second_order(transposed, codes):
    operands = weight(codes)
    x = activations(3, N if transposed else K, dtype=FP64).requires_grad_()
    call = lambda x: op(x, *operands, transposed)  # noqa: E731
    assert torch.autograd.gradcheck(call, x)
    assert torch.autograd.gradgradcheck(call, x)


def test_the_layer_has_the_right_gradients_of_first_and_second_order():
    layer = layer_of(bias=activations(N, dtype=FP64))
    x = activations(2, 2, K, dtype=FP64).requires_grad_()
    assert torch.autograd.gradcheck(layer, x)
    assert torch.autograd.gradgradcheck(layer, x)


def test_a_gradient_that_is_expanded_or_strided_is_taken():
    layer = layer_of()
    x = activations(4, K).requires_grad_()
    layer(x).sum().backward()
    expected = dense(layer).sum(0).expand(4, -1)
    torch.testing.assert_close(x.grad.double(), expected, rtol=1e-4, atol=1e-5)
    x.grad = None
    dy = activations(N, 4, seed=5).T
    layer(x).backward(dy)
    assert_product(x.grad, dy, dense(layer).T)


@pytest.mark.parametrize("shape", [(K,), (1, K), (2, 3, K), (2, 1, 3, K), (0, K), (2, 0, K)])
@pytest.mark.parametrize("dtype", [FP16, FP32])
def test_rows_may_have_any_shape(shape, dtype):
    layer = layer_of(bias=activations(N))
    x = activations(*shape, dtype=dtype).requires_grad_()
    y = layer(x)
    assert y.shape == (*shape[:-1], N) and y.dtype == dtype
    y.sum().backward()
    assert x.grad.shape == shape
    rows = x.detach().reshape(-1, K)
    assert torch.equal(y.detach().reshape(-1, N), layer(rows))


def test_x_need_not_be_contiguous():
    layer = layer_of()
    x = activations(4, 3, K)
    for other in (x.transpose(0, 1), activations(3, 2 * K)[:, ::2], x[..., :1].expand(4, 3, K)):
        assert not other.is_contiguous()
        assert torch.equal(layer(other), layer(other.contiguous()))


@every_type
@pytest.mark.parametrize("bias_dtype", [FP16, FP32])
def test_a_bias_is_added_once(dtype, bias_dtype):
    bias = activations(N, dtype=bias_dtype)
    x = activations(2, 3, K, dtype=dtype)
    y, without = layer_of(bias=bias)(x), layer_of()(x)
    assert y.dtype == dtype
    assert torch.equal(y, without + bias.to(dtype))


@pytest.mark.parametrize("memory", [PLAIN, T_VIEW, SLICED])
def test_operands_of_any_strides_make_the_same_layer(memory):
    packed, scales, zeros, _ = weight()
    x = activations(3, K)
    operands = (laid_out(tensor, memory) for tensor in (packed, scales, zeros))
    layer = Int4Linear(*operands, GROUP)
    assert torch.equal(layer(x), layer_of()(x))
    assert all(buffer.is_contiguous() for buffer in layer.buffers())


@pytest.mark.parametrize("dtype", [FP16, BF16, FP32], ids=str)
def test_scales_of_any_type_are_taken_as_they_are(dtype):
    layer = layer_of(dtype=dtype)
    assert layer.scales.dtype == layer.zeros.dtype == dtype
    x = activations(3, K)
    assert_product(layer(x), x, dense(layer))


def test_a_layer_shares_nothing_with_what_it_was_made_of():
    *tensors, _ = weight()
    bias = activations(N)
    layer = Int4Linear(*tensors, GROUP, bias)
    x = activations(2, K)
    y = layer(x)
    for tensor in (*tensors, bias):
        tensor.zero_()
    assert torch.equal(layer(x), y)


# Frozen


def test_no_activations_are_kept_for_the_backward_product():
    layer, kept = layer_of(bias=activations(N)), []
    x = activations(50, K).requires_grad_()
    with saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor):
        y = layer(x)
    own = {buffer.untyped_storage().data_ptr() for buffer in layer.buffers()}
    assert len(kept) == 3
    assert all(tensor.untyped_storage().data_ptr() in own for tensor in kept)
    y.sum().backward()
    assert x.grad is not None


def test_an_optimizer_is_given_nothing():
    layer = layer_of(bias=activations(N))
    assert not list(layer.parameters())
    layer.requires_grad_(True)
    assert not any(buffer.requires_grad for buffer in layer.buffers())
    assert not layer(activations(2, K)).requires_grad


@pytest.mark.parametrize("name", ["scales", "zeros"])
@pytest.mark.parametrize("x_requires_grad", [False, True])
def test_scales_that_require_grad_are_refused(name, x_requires_grad):
    layer = layer_of()
    getattr(layer, name).requires_grad_()
    x = activations(2, K).requires_grad_(x_requires_grad)
    with pytest.raises(ValueError, match="frozen: their scales and zeros cannot require grad"):
        layer(x)
    with torch.no_grad():
        assert torch.equal(layer(x), layer_of()(x))


def test_what_a_layer_is_made_of_may_require_grad():
    packed, scales, zeros, _ = weight()
    bias = activations(N).requires_grad_()
    layer = Int4Linear(packed, scales.requires_grad_(), zeros.requires_grad_(), GROUP, bias)
    assert not any(buffer.requires_grad for buffer in layer.buffers())


class WithAdapter(torch.nn.Module):
    """A frozen layer and what is learned beside it."""

    def __init__(self, frozen, rank=4):
        super().__init__()
        self.frozen = frozen
        self.down = torch.nn.Linear(frozen.in_features, rank, bias=False)
        self.up = torch.nn.Linear(rank, frozen.out_features, bias=False)
        torch.nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.frozen(x) + self.up(self.down(x))


@pytest.mark.parametrize("layers", [1, 2])
def test_an_adapter_learns_and_the_weight_stays(layers):
    """With two layers the first adapter learns through the frozen second one."""
    torch.manual_seed(0)
    blocks = [WithAdapter(layer_of(N=K, K=K)) for _ in range(layers)]
    model = torch.nn.Sequential(*blocks)
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    x = activations(64, K)
    target = model(x).detach() + x @ activations(K, 2, seed=5) @ activations(2, K, seed=6) / 4
    trained = list(blocks[0].parameters())
    assert {*trained} <= {*model.parameters()}
    optimizer = torch.optim.Adam(trained, lr=0.01)
    losses = []
    for _ in range(150):
        loss = torch.nn.functional.mse_loss(model(x), target)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < losses[0] / 20
    assert all(torch.equal(buffer, before[name]) for name, buffer in model.named_buffers())


# In the company of torch


def forward_and_backward(model, x, dy=None):
    """(y, gradient of x)."""
    x = x.detach().clone().requires_grad_()
    y = model(x)
    y.backward(torch.ones_like(y) if dy is None else dy.to(y.dtype))
    return y.detach(), x.grad


def test_the_op_is_registered_as_torch_asks():
    packed, scales, zeros, _ = weight()
    for x_dtype, transposed in ((FP32, False), (FP32, True), (FP16, False)):
        for M in (3, 0):
            x = activations(M, N if transposed else K, dtype=x_dtype).requires_grad_()
            torch.library.opcheck(op, (x, packed, scales, zeros, GROUP, transposed))


def test_torch_compile_takes_it_whole(fresh_compiler):
    model = torch.nn.Sequential(layer_of(bias=activations(N)), torch.nn.GELU())
    compiled = torch.compile(model, fullgraph=True)
    x, dy = activations(5, K), activations(5, N, seed=5)
    for got, expected in zip(
        forward_and_backward(compiled, x, dy), forward_and_backward(model, x, dy), strict=True
    ):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [FP16, FP32], ids=str)
def test_one_graph_for_any_number_of_rows(fresh_compiler, dtype):
    layer = layer_of(bias=activations(N))
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    forward_and_backward(compiled, activations(4, K, dtype=dtype))
    with torch.compiler.set_stance("fail_on_recompile"):
        for M in (2, 3, 17):
            x = activations(M, K, dtype=dtype)
            got, expected = forward_and_backward(compiled, x), forward_and_backward(layer, x)
            assert all(map(torch.equal, got, expected))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpoint_changes_nothing(use_reentrant):
    model = torch.nn.Sequential(layer_of(N=K), torch.nn.GELU(), layer_of())
    x = activations(5, K)
    expected = forward_and_backward(model, x)
    got = forward_and_backward(lambda x: checkpoint(model, x, use_reentrant=use_reentrant), x)
    assert all(map(torch.equal, got, expected))


@pytest.mark.parametrize("autocast_dtype", [BF16, FP16], ids=str)
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("x_dtype", [FP32, FP16])
def test_autocast_computes_in_its_type(autocast_dtype, inside, x_dtype):
    """The gradient has the type of x, wherever the backward product runs."""
    layer = layer_of(bias=activations(N))
    x = activations(5, K, dtype=x_dtype).requires_grad_()
    rounded = x.detach().to(autocast_dtype)
    with torch.autocast("cpu", autocast_dtype):
        y = layer(x)
        assert y.dtype == autocast_dtype
        if inside:
            y.backward(torch.ones_like(y))
    if not inside:
        y.backward(torch.ones_like(y))
    assert torch.equal(y, layer(rounded))
    assert x.grad.dtype == x_dtype
    dx = op(torch.ones_like(y), layer.packed.T, layer.scales, layer.zeros, GROUP, True)
    assert dx.dtype == autocast_dtype
    assert torch.equal(x.grad, dx.to(x_dtype))


def test_a_fake_layer_has_shapes_and_types():
    layer = layer_of(bias=activations(N)).to("meta")
    for dtype in (FP16, FP32, FP64):
        x = torch.empty(2, 3, K, dtype=dtype, device="meta", requires_grad=True)
        y = layer(x)
        assert (y.shape, y.dtype, y.device.type) == ((2, 3, N), dtype, "meta")
        y.sum().backward()
        assert x.grad.shape == x.shape and x.grad.dtype == dtype


def test_fake_tensors_go_there_and_back():
    with FakeTensorMode():
        layer = Int4Linear(
            torch.empty(K // 2, N, dtype=U4), torch.empty(4, N), torch.empty(4, N), GROUP
        )
        x = torch.empty(5, K, dtype=FP16, requires_grad=True)
        y = layer(x)
        y.sum().backward()
    assert (y.shape, y.dtype, x.grad.shape) == ((5, N), FP16, (5, K))


# Kept, copied, moved


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
@both_codes
def test_a_copy_is_the_same_layer_and_shares_nothing(copied, codes):
    layer = layer_of(codes, bias=activations(N))
    other, x = copied(layer), activations(3, K)
    expected = forward_and_backward(layer, x)
    for buffer in layer.buffers():
        buffer.zero_()
    assert all(map(torch.equal, forward_and_backward(other, x), expected))
    assert repr(other) == repr(layer)


@both_codes
@pytest.mark.parametrize("dtype", [FP16, BF16, FP32], ids=str)
def test_a_state_makes_another_layer_the_same(codes, dtype, tmp_path):
    layer = layer_of(codes, dtype, activations(N))
    save_file(layer.state_dict(), tmp_path / "layer.safetensors")
    state = load_file(tmp_path / "layer.safetensors")
    assert state.keys() == {"packed", "scales", "zeros", "bias"}
    assert state["packed"].nbytes == N * K // 2
    empty = torch.zeros(K // 2, N, dtype=codes), torch.zeros(K // GROUP, N, dtype=dtype)
    other = Int4Linear(*empty, empty[1], GROUP, torch.zeros(N))
    torch.nn.Sequential(other).load_state_dict({f"0.{name}": t for name, t in state.items()})
    x = activations(3, K)
    assert torch.equal(other(x), layer(x))
    assert other.packed.dtype == codes and other.scales.dtype == dtype


@both_codes
@pytest.mark.parametrize("assign", [False, True])
def test_bytes_of_the_other_type_are_refused_and_change_nothing(codes, assign):
    layer, other = layer_of(codes), layer_of(S4 if codes == U4 else U4, group_size=GROUP)
    with torch.no_grad():
        other.scales.mul_(2)
    before = copy.deepcopy(layer.state_dict())
    own, theirs = layer.packed.dtype, other.packed.dtype
    with pytest.raises(RuntimeError, match=f"0.packed: it has {own}, and the file {theirs}"):
        torch.nn.Sequential(layer).load_state_dict(
            {f"0.{name}": t for name, t in other.state_dict().items()}, assign=assign
        )
    assert all(torch.equal(layer.state_dict()[name], before[name]) for name in before)


@pytest.mark.parametrize("name", ["packed", "scales", "zeros", "bias"])
def test_an_incomplete_state_is_refused(name):
    layer = layer_of(bias=activations(N))
    state = layer.state_dict()
    del state[name]
    with pytest.raises(RuntimeError, match=f"Missing key.*{name}"):
        layer.load_state_dict(state)


def test_a_state_of_other_groups_is_refused():
    with pytest.raises(RuntimeError, match="size mismatch for scales"):
        layer_of().load_state_dict(layer_of(group_size=16).state_dict())


@both_codes
def test_another_type_of_the_model_leaves_scales_and_bytes_alone(codes):
    packed, scales, zeros, _ = weight(codes)
    layer = Int4Linear(packed, scales * 1e-8, zeros, GROUP, activations(N) * 1e-8)
    before = {name: buffer.clone() for name, buffer in layer.named_buffers()}
    model = torch.nn.Sequential(layer, torch.nn.Linear(N, 2))
    for change in ("half", "bfloat16", "double", "float"):
        getattr(model, change)()
        for name, buffer in layer.named_buffers():
            assert buffer.dtype == before[name].dtype
            assert torch.equal(buffer, before[name])
    model.to(torch.float16)
    assert all(torch.equal(buffer, before[name]) for name, buffer in layer.named_buffers())
    assert model[1].weight.dtype == FP16


def test_it_moves_to_a_device_and_another_type_at_once():
    layer = layer_of(bias=activations(N))
    layer.to("meta", FP16)
    assert all(buffer.device.type == "meta" for buffer in layer.buffers())
    assert layer.scales.dtype == FP32 and layer.packed.dtype == U4


def test_a_layer_says_what_it_is():
    text = repr(layer_of(S4, bias=activations(N)))
    assert text == "Int4Linear(in_features=32, out_features=12, group_size=8, s4, bias=True)"
    assert "u4, bias=False" in repr(layer_of())


# From other layers


@pytest.mark.parametrize("dtype", [FP16, BF16, FP32, FP64], ids=str)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("group_size", [None, 8, 4])
def test_a_linear_layer_is_within_half_a_step_of_its_own(dtype, bias, group_size):
    torch.manual_seed(0)
    linear = torch.nn.Linear(K, N, bias=bias).to(dtype)
    before = copy.deepcopy(linear.state_dict())
    layer = Int4Linear.from_linear(linear, group_size)
    q = quantize_linear(linear.weight, 4, group_size)
    assert torch.equal(unpack_2xint4(layer.packed.T), q.W_q.T)
    assert layer.group_size == (group_size or K)
    assert layer.scales.dtype == (dtype if dtype in (FP16, BF16) else FP32)
    step = q.scales.double().repeat_interleave(layer.group_size, dim=1)
    off = (dense(layer) - linear.weight.detach().double()).abs()
    assert (off <= step * (0.5 + 16 * bounds.OUTPUT_ROUNDOFF[layer.scales.dtype])).all()
    assert (layer.bias is None) == (not bias)
    assert not bias or torch.equal(layer.bias, linear.bias)
    assert all(torch.equal(linear.state_dict()[name], before[name]) for name in before)
    with torch.no_grad():
        linear.weight.zero_()
    assert dense(layer).any()


@pytest.mark.parametrize("dtype", [FP16, BF16, FP32], ids=str)
@pytest.mark.parametrize("options", [{"group_size": 4}, {}, {"per_tensor": True}], ids=str)
def test_quantized_codes_are_taken_as_they_are(options, dtype):
    q = quantize_linear(activations(N, K), 4, integer_zeros=False, **options)
    layer = Int4Linear.from_quantized(q, bias=activations(N), dtype=dtype)
    assert torch.equal(unpack_2xint4(layer.packed.T), q.W_q.T)
    assert layer.scales.dtype == dtype and layer.packed.dtype == U4
    groups = K // q.group_size
    assert torch.equal(layer.scales, q.scales.expand(N, groups).T.to(dtype))
    assert torch.equal(layer.zeros, q.zeros.expand(N, groups).T.to(dtype))


@pytest.mark.parametrize("dtype", [FP16, BF16, FP32], ids=str)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("group_size", [64, 32, None])
def test_codes_scales_and_zeros_of_hqq_are_taken_as_they_are(group_size, bias, dtype):
    source = FakeHQQ(4, group_size, dtype, bias)
    layer = Int4Linear.from_hqqlinear(source)
    n, k = source.meta["shape"]
    assert (layer.out_features, layer.in_features) == (n, k)
    assert layer.group_size == (group_size or k)
    assert torch.equal(unpack_2xint4(layer.packed.T).T.reshape(source.W_q.shape), source.W_q)
    assert torch.equal(layer.scales.T.reshape(-1, 1), source.meta["scale"])
    assert torch.equal(layer.zeros.T.reshape(-1, 1), source.meta["zero"])
    assert torch.equal(dense(layer), source.dequantize())
    assert not bias or torch.equal(layer.bias, source.bias)
    x = activations(3, k)
    y, dx = forward_and_backward(layer, x)
    assert_product(dx, torch.ones(3, n), source.dequantize().T)
    assert_product(
        y if layer.bias is None else layer_without_bias(layer)(x), x, source.dequantize()
    )


def layer_without_bias(layer):
    other = copy.deepcopy(layer)
    other.bias = None
    return other


@pytest.mark.parametrize("name", REFUSED)
def test_an_hqq_layer_that_cannot_be_taken_gets_one_sentence(name):
    source, sentence = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=sentence) as refused:
        Int4Linear.from_hqqlinear(source())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("nbits", [8, 3, 2, 1])
def test_an_hqq_layer_of_other_bits_is_refused(nbits):
    with pytest.raises(ValueError, match=f"the HQQ layer has {nbits} bits: quantize it with"):
        Int4Linear.from_hqqlinear(FakeHQQ(nbits))


@pytest.mark.parametrize("dtype", [FP16, BF16, FP32], ids=str)
@pytest.mark.parametrize("group_size", [64, 128])
def test_a_layer_of_the_real_hqq(group_size, dtype):
    quantize = pytest.importorskip("hqq.core.quantize")
    torch.manual_seed(0)
    linear = torch.nn.Linear(256, 96)
    bias = linear.bias.detach().clone()
    config = quantize.BaseQuantizeConfig(nbits=4, group_size=group_size, axis=1)
    hqq = quantize.HQQLinear(linear, config, compute_dtype=dtype, device="cpu")
    layer = Int4Linear.from_hqqlinear(hqq)
    own = hqq.unpack(dtype=torch.uint8).reshape(96, 256)
    assert torch.equal(unpack_2xint4(layer.packed.T), own.T)
    torch.testing.assert_close(dense(layer), hqq.dequantize().double(), rtol=2**-7, atol=2**-8)
    torch.testing.assert_close(layer.bias.float(), bias.to(dtype).float())
    x = activations(4, 256, dtype=dtype)
    y, dx = forward_and_backward(layer, x)
    assert_product(dx, torch.ones(4, 96, dtype=dtype), dense(layer).T)
    theirs = hqq(x)
    torch.testing.assert_close(y, theirs.detach(), rtol=2**-5, atol=2**-4)


# Errors


WRONG_USES = {
    "fewer columns": (ValueError, lambda: layer_of()(activations(2, K - 1)), r"\(2, 31\)"),
    "a number": (ValueError, lambda: layer_of()(torch.tensor(1.0)), r"x must be \(\.\.\., 32\)"),
    "int8 x": (TypeError, lambda: layer_of()(torch.ones(2, K, dtype=S4)), "got torch.int8"),
    "complex x": (TypeError, lambda: layer_of()(activations(2, K).cfloat()), "torch.complex64"),
    "a list": (TypeError, lambda: layer_of()([1.0]), "x must be a torch.Tensor, got list"),
    "sparse x": (TypeError, lambda: layer_of()(activations(2, K).to_sparse()), "dense tensor"),
    "x elsewhere": (
        ValueError,
        lambda: layer_of()(activations(2, K).to("meta")),
        "x is on meta and the layer on cpu",
    ),
    "fp8 x": (
        TypeError,
        lambda: layer_of()(activations(2, K).to(torch.float8_e5m2)),
        "got torch.float8_e5m2",
    ),
    "complex bias": (TypeError, lambda: layer_of(bias=activations(N).cfloat()), "bias .*complex64"),
    "whole bias": (TypeError, lambda: layer_of(bias=torch.ones(N).long()), "bias .*int64"),
    "sparse bias": (TypeError, lambda: layer_of(bias=activations(N).to_sparse()), "bias .*sparse"),
    "bias elsewhere": (
        ValueError,
        lambda: layer_of(bias=activations(N).to("meta")),
        "bias is on meta and packed on cpu: move one",
    ),
    "bias of another size": (
        ValueError,
        lambda: layer_of(bias=activations(N + 1)),
        r"bias must have shape \(12,\), got \(13,\)",
    ),
    "bias of rank 2": (ValueError, lambda: layer_of(bias=activations(1, N)), r"got \(1, 12\)"),
    "bias as a number": (TypeError, lambda: layer_of(bias=1.0), "bias must be .*got float"),
    "scales transposed": (
        ValueError,
        lambda: Int4Linear(weight()[0], weight()[1].T, weight()[2], GROUP),
        r"scales must have shape .*\(4, 12\), got \(12, 4\)",
    ),
    "codes that are not packed": (
        TypeError,
        lambda: Int4Linear(*(t.float() for t in weight()[:3]), GROUP),
        "packed must be torch.uint8 or torch.int8, got torch.float32",
    ),
    "a weight for from_linear": (
        TypeError,
        lambda: Int4Linear.from_linear(torch.ones(3, 4)),
        "from_linear takes a torch.nn.Linear, got Tensor",
    ),
    "an odd number of inputs": (
        ValueError,
        lambda: Int4Linear.from_linear(torch.nn.Linear(7, 3)),
        r"even K, got \(7, 3\)",
    ),
    "groups that do not divide": (
        ValueError,
        lambda: Int4Linear.from_linear(torch.nn.Linear(8, 3), 3),
        "group_size = 3 does not divide K = 8",
    ),
    "a linear layer without numbers": (
        ValueError,
        lambda: Int4Linear.from_linear(torch.nn.Linear(8, 4, device="meta")),
        "meta",
    ),
    "nothing quantized": (TypeError, lambda: Int4Linear.from_quantized(None), "QuantizedWeight"),
    "codes of 3 bits": (
        ValueError,
        lambda: Int4Linear.from_quantized(quantize_linear(torch.ones(2, 4), 3)),
        "4 bits, these have 3",
    ),
    "the op with a gradient of scales": (
        ValueError,
        lambda: mixed_mm(activations(2, K), weight()[0], weight()[1].requires_grad_(),
                         weight()[2], GROUP, False),
        "frozen",
    ),
    "the op with another group size": (
        ValueError,
        lambda: mixed_mm(activations(2, K), *weight()[:3], 16, False),
        r"scales must have shape",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_USES)
def test_a_wrong_use_gets_one_sentence(name):
    error, use, sentence = WRONG_USES[name]
    with pytest.raises(error, match=sentence) as refused:
        use()
    assert "\n" not in str(refused.value)
