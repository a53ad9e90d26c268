"""GemvLinear: a module whose own CUDA text travels with it, and is compiled only where allowed."""

import copy
import pickle

import pytest
import torch
from safetensors.torch import save_file

from gemlite_edu import GemvLinear, PackedWeight, pack_warped_int32, quantize_linear
from gemlite_edu.kernels.errors import UntrustedText
from gemlite_edu.numbers import bounds, reference
from gemlite_edu.packing import pack_sparse_1in2, tiled_sparsity_50

HALVED = """
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < CODES_PER_GROUP; ++j) {
    const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;
    sum += 0.5f * (code - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}"""
OTHER = HALVED.replace("0.5f", "0.25f")


@pytest.fixture
def q():
    W = torch.randn(40, 192, generator=torch.Generator().manual_seed(0))
    return quantize_linear(W, 4, group_size=64)


@pytest.fixture
def x():
    return torch.randn(2, 192, generator=torch.Generator().manual_seed(1)).half()


def test_it_multiplies_as_the_dequantized_weights(q, x):
    bias = torch.linspace(-1, 1, 40).half()
    W = q.dequantize(torch.float64)
    y = GemvLinear.from_quantized(q)(x)
    assert ((y - reference.matmul(x, W)).abs() <= bounds.error_bound(x, W, y.dtype)).all()
    assert torch.equal(GemvLinear.from_quantized(q, bias=bias)(x), y + bias)
    assert GemvLinear.from_quantized(q)(x.reshape(2, 1, 192)).shape == (2, 1, 40)


def test_bf16_and_other_kernels(q, x):
    bf16 = GemvLinear.from_quantized(q, x_dtype=torch.bfloat16, kernel="gemv_a16wn_float4")
    assert bf16(x.bfloat16()).dtype == torch.bfloat16
    kept = tiled_sparsity_50(q.W_q.float())
    W_packed = pack_sparse_1in2(q.W_q, kept)
    sparse = GemvLinear(
        W_packed, q.scales, q.zeros, 192, 7, kernel="gemv_a16w7_sparse", group_size=64
    )
    W = q.dequantize(torch.float64) * kept
    y = sparse(x)
    assert ((y - reference.matmul(x, W)).abs() <= bounds.error_bound(x, W, y.dtype)).all()


def test_your_text_is_used_and_shown(q, x):
    mine = GemvLinear.from_quantized(q, replace={"dequant_dot": HALVED})
    assert torch.equal(mine(x), GemvLinear.from_quantized(q)(x) * 0.5)
    assert "sum += 0.5f * (code - zero)" in repr(mine)
    assert "nbits=4, group_size=64" in repr(mine)


def test_a_file_with_text_is_refused_unless_allowed(q, x, tmp_path):
    mine = GemvLinear.from_quantized(q, replace={"dequant_dot": HALVED}, bias=torch.ones(40))
    mine.save(tmp_path / "mine.safetensors")
    with pytest.raises(UntrustedText, match=r"text for dequant_dot.*True\)") as refused:
        GemvLinear.load(tmp_path / "mine.safetensors")
    assert refused.value.texts == {"dequant_dot": HALVED}
    again = GemvLinear.load(tmp_path / "mine.safetensors", trust_saved_text=True)
    assert torch.equal(again(x), mine(x)) and repr(again) == repr(mine)
    other = GemvLinear.from_quantized(q, replace={"dequant_dot": OTHER}, bias=torch.ones(40))
    with pytest.raises(UntrustedText):  # one file was trusted, not all that follow
        again.load_state_dict(other.state_dict())


def test_a_file_without_text_is_loaded(q, x, tmp_path):
    plain = GemvLinear.from_quantized(q, x_dtype=torch.bfloat16)
    plain.save(tmp_path / "plain.safetensors")
    again = GemvLinear.load(tmp_path / "plain.safetensors")
    assert torch.equal(again(x.bfloat16()), plain(x.bfloat16()))


@pytest.mark.parametrize(
    "metadata",
    [None, {"GemvLinear": "no json"}, {"GemvLinear": "{}"}, {"GemvLinear": '{"replace": null}'}],
)
def test_another_file_gets_one_sentence(metadata, tmp_path):
    save_file({"weight": torch.ones(1)}, tmp_path / "other.safetensors", metadata=metadata)
    with pytest.raises(ValueError, match="was not written by GemvLinear.save"):
        GemvLinear.load(tmp_path / "other.safetensors")
    (tmp_path / "text.safetensors").write_text("no tensors here")
    with pytest.raises(ValueError, match="was not written by GemvLinear.save"):
        GemvLinear.load(tmp_path / "text.safetensors")


@pytest.mark.parametrize("state", [None, 3, {}, {"replace": None}])
def test_a_broken_state_gets_one_sentence(q, state):
    linear = GemvLinear.from_quantized(q)
    with pytest.raises(ValueError, match="this is not the state of a GemvLinear"):
        linear.load_state_dict(linear.state_dict() | {"_extra_state": state})


def test_a_state_without_text_does_not_take_yours_away(q, x):
    mine = GemvLinear.from_quantized(q, replace={"dequant_dot": HALVED})
    before = mine(x)
    with pytest.raises(ValueError, match="the state has no text for holes and this module has"):
        mine.load_state_dict(GemvLinear.from_quantized(q).state_dict())
    assert torch.equal(mine(x), before)


def test_a_state_with_another_text_is_refused_and_changes_nothing(q, x, tmp_path):
    theirs = GemvLinear.from_quantized(q, replace={"dequant_dot": OTHER}, bias=torch.ones(40))
    torch.save(theirs.state_dict(), tmp_path / "state.pt")
    state = torch.load(tmp_path / "state.pt")
    for replace in ({}, {"dequant_dot": HALVED}):
        mine = GemvLinear.from_quantized(q, replace=replace, bias=torch.zeros(40))
        before = mine(x)
        with pytest.raises(UntrustedText, match="if you trust them, use a GemvLinear made with"):
            torch.nn.Sequential(mine).load_state_dict({f"0.{k}": v for k, v in state.items()})
        assert torch.equal(mine(x), before)
    trusting = GemvLinear.from_quantized(q, bias=torch.zeros(40), trust_saved_text=True)
    trusting.load_state_dict(state)
    assert torch.equal(trusting(x), theirs(x))


def test_a_state_with_the_same_text_is_loaded(q, x):
    other = quantize_linear(torch.randn(40, 192), 4, group_size=64)
    first, second = (
        GemvLinear.from_quantized(w, replace={"dequant_dot": HALVED}) for w in (q, other)
    )
    second.load_state_dict(first.state_dict())
    assert torch.equal(second(x), first(x))


def test_a_state_of_another_kind_is_refused_and_changes_nothing(x):
    three, five = (
        GemvLinear.from_quantized(quantize_linear(torch.randn(40, 192), nbits)) for nbits in (3, 5)
    )
    before = five(x)
    with pytest.raises(ValueError, match="the state is of a GemvLinear with nbits=3: make it"):
        five.load_state_dict(three.state_dict())
    assert torch.equal(five(x), before)


def test_copies_and_pickles_work_alike(q, x):
    mine = GemvLinear.from_quantized(q, replace={"dequant_dot": HALVED})
    assert torch.equal(copy.deepcopy(mine)(x), mine(x))
    assert torch.equal(pickle.loads(pickle.dumps(mine))(x), mine(x))


def test_torch_compile_takes_it_whole(fresh_compiler, q, x):
    model = torch.nn.Sequential(GemvLinear.from_quantized(q, bias=torch.ones(40)), torch.nn.ReLU())
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), model(x))


def test_torch_compile_takes_layers_of_many_sizes(fresh_compiler):
    """At the third, torch keeps M and K symbolic."""
    for M, N, K, group_size in ((2, 24, 64, 32), (2, 40, 192, 64), (3, 48, 256, 64)):
        W = torch.randn(N, K, generator=torch.Generator().manual_seed(0))
        linear = GemvLinear.from_quantized(quantize_linear(W, 4, group_size))
        compiled = torch.compile(linear, fullgraph=True, backend="aot_eager")
        x = torch.ones(M, K).half()
        assert torch.equal(compiled(x), linear(x))


@pytest.mark.parametrize("strict", [False, True])
def test_it_is_exported_for_any_number_of_rows(q, x, strict):
    linear = GemvLinear.from_quantized(q)
    rows = ({0: torch.export.Dim("M", min=2, max=64)},)
    exported = torch.export.export(linear, (x,), dynamic_shapes=rows, strict=strict)
    more = torch.cat([x, x, x])
    assert torch.equal(exported.module()(more), linear(more))


def test_half_of_a_model_keeps_scales_and_zeros_exact(x):
    q = quantize_linear(torch.randn(40, 192) * 1e-8, 4)
    linear = GemvLinear.from_quantized(q)
    state = {name: tensor.clone() for name, tensor in linear.named_buffers()}
    linear.half().bfloat16().double()
    assert all(torch.equal(linear.get_buffer(name), state[name]) for name in state)
    assert linear.to("meta").scales.device.type == "meta"


def test_a_module_that_is_partly_on_meta_is_an_error(q, x):
    for name in ("W_packed", "scales"):
        linear = GemvLinear.from_quantized(q)
        setattr(linear, name, getattr(linear, name).to("meta"))
        with pytest.raises((RuntimeError, ValueError), match="on meta|on one device"):
            linear(x)


@pytest.mark.parametrize(
    "use, sentence",
    [
        (lambda q, x: GemvLinear.from_quantized(q, x_dtype=torch.int8), "x_dtype must be"),
        (lambda q, x: GemvLinear.from_quantized(q)(x.float()), "x must be torch.float16, got"),
        (lambda q, x: GemvLinear.from_quantized(q)([1.0]), "x must be a torch.Tensor, got list"),
        (lambda q, x: GemvLinear.from_quantized(q)(x[0, 0]), r"x must have shape \(..., K\)"),
        (
            lambda q, x: GemvLinear.from_quantized(q, bias=torch.ones(40, 1)),
            r"bias must have shape \(40,\), got \(40, 1\)",
        ),
        (lambda q, x: GemvLinear.from_quantized(q, bias=1.0), "bias must be .*got float"),
        (
            lambda q, x: GemvLinear.from_quantized(q, kernel="gemv_a16w3_planes"),
            "gemv_a16w3_planes has words of its own: pack them",
        ),
        (lambda q, x: GemvLinear.from_quantized(q, group_size=32), "group_size"),
        (
            lambda q, x: GemvLinear(q.W_q, q.scales, q.zeros, 192, 4),
            "W_packed must be a torch.int32",
        ),
        (
            lambda q, x: GemvLinear(pack_warped_int32(q.W_q, 4), q.scales, q.zeros, 300, 4),
            r"4-bit codes \(40, 300\) take words \(40, 64\), got \(40, 32\)",
        ),
        (
            lambda q, x: GemvLinear(pack_warped_int32(q.W_q, 4), q.scales.half(), q.zeros, 192, 4),
            "scales must be float32, got torch.float16",
        ),
        (lambda q, x: GemvLinear.from_quantized(q)(x.requires_grad_()), "x requires grad"),
        (
            lambda q, x: GemvLinear.from_quantized(q)(x[:, :100]),
            r"x must be \(..., 192\), got \(2, 100\)",
        ),
    ],
)
def test_a_wrong_use_gets_one_sentence(q, x, use, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        use(q, x)


def test_scales_and_zeros_may_be_numbers(x, q):
    words = pack_warped_int32(q.W_q, 4)
    y = GemvLinear(words, 0.5, 7.5, 192, 4)(x)
    half, zero = torch.full((1, 1), 0.5), torch.full((1, 1), 7.5)
    assert torch.equal(y, GemvLinear(words, half, zero, 192, 4)(x))


def test_trust_is_true_or_false(q, tmp_path):
    GemvLinear.from_quantized(q).save(tmp_path / "gemv.safetensors")
    for use in (
        lambda: GemvLinear.from_quantized(q, trust_saved_text="yes"),
        lambda: GemvLinear.load(tmp_path / "gemv.safetensors", trust_saved_text="yes"),
    ):
        with pytest.raises(TypeError, match="trust_saved_text must be True or False, got str"):
            use()


def test_from_quantized_takes_a_quantized_weight_alone():
    for made in (GemvLinear, PackedWeight):
        with pytest.raises(TypeError, match="from_quantized takes a QuantizedWeight, got str"):
            made.from_quantized("q")
