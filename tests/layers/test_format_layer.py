"""A `GemLiteLinear` of any `Format`: right, saved whole, and never run with another text."""

import io
import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, load_model, save_file, save_model

import gemlite_edu as g
from gemlite_edu import CodedWeight, Format, GemLiteLinear, UntrustedText, quantize_to_format
from gemlite_edu.operators import cuda_product
from gemlite_edu.runners import simulator

PRESETS = (
    *("INT1", "INT2", "INT3", "INT4", "INT5", "INT6", "INT7", "INT8", "NF4", "FP4_E2M1", "MXFP4"),
    *("NVFP4", "FP6_E2M3", "FP6_E3M2", "FP8_E4M3"),
    *("log2 2", "log2 3", "log2 4", "log2 8"),
)
N, K, M = 24, 256, 3
TEXTS = {
    "dequant_pair": g.pair_table(g.NF4)["dequant_pair"],
    "prepare_pairs": g.pair_table(g.NF4)["prepare_pairs"],
}
WITH_TEXTS = replace(g.NF4, texts=TEXTS, group_size=32)


@pytest.fixture
def W():
    return torch.randn(N, K, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def x():
    return torch.randn(M, K, generator=torch.Generator().manual_seed(2))


def preset(name):
    return g.log2_format(int(name[-1])) if name.startswith("log2") else getattr(g, name)


def assert_near(y, x, q, bias, kernel_dtype):
    """Within what rounding x and each weight to the 16-bit dtype, and y to its own, may cost."""
    W = q.dequantize(torch.float64)
    exact = x.double() @ W.T + (0 if bias is None else bias.double())
    eps = torch.finfo(kernel_dtype).eps
    reach = x.double().abs() @ W.abs().T
    bound = 2 * eps * reach + torch.finfo(y.dtype).eps * exact.abs() + 1e-30
    assert ((y.double() - exact).abs() <= bound).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", PRESETS)
def test_a_layer_of_a_preset_is_right_and_saves_itself(name, dtype, W, x):
    q, bias, x = quantize_to_format(W, preset(name)), torch.randn(N), x.to(dtype)
    layer = GemLiteLinear.from_coded(q, bias, dtype)
    y = layer(x)
    assert y.dtype == dtype
    assert_near(y, x, q, bias, torch.float16 if dtype == torch.float32 else dtype)
    again = GemLiteLinear()
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(x), y) and repr(again) == repr(layer)


@pytest.mark.parametrize(
    "name", ["INT3", "INT7", "NF4", "MXFP4", "NVFP4", "log2 2", "log2 3", "FP6_E3M2", "FP8_E4M3"]
)
def test_the_fast_kernel_in_the_layer_is_as_right_as_dense_weights(name, W, x):
    q = quantize_to_format(W, preset(name))
    layer = GemLiteLinear.from_coded(q)
    y = layer.forward_manual(x.half(), "GEMV_FAST")
    assert_near(y, x.half(), q, None, torch.float16)


@pytest.mark.parametrize("K", [160, 192])
def test_integers_of_3_bits_whose_rows_are_not_whole_pieces(K):
    W, x = torch.randn(8, K), torch.randn(2, K).half()
    q = quantize_to_format(W, g.INT3)
    layer = GemLiteLinear.from_coded(q)
    assert_near(layer.forward_manual(x, "DEQUANTIZE"), x, q, None, torch.float16)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.bool, torch.complex64])
def test_a_layer_of_float32_refuses_x_that_is_no_float(W, x, dtype):
    layer = GemLiteLinear.from_coded(quantize_to_format(W, g.INT4), dtype=torch.float32)
    with pytest.raises(TypeError, match=f"x must be a float16, .* or float32 .*, got {dtype}"):
        layer(x.to(dtype))


def test_a_layer_of_float32_keeps_the_range_of_bfloat16_x(W, x):
    layer = GemLiteLinear.from_coded(quantize_to_format(W, g.INT4), dtype=torch.float32)
    x = (x * 1e30).bfloat16()  # as autocast gives it
    assert torch.equal(layer(x), layer(x.float())) and layer(x).isfinite().all()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["scales", "zeros", "channel_scales", "bias"])
def test_a_state_that_is_not_finite_is_refused(W, name, value):
    format = Format(4, group_size=None if name == "channel_scales" else 64)
    layer = GemLiteLinear.from_coded(quantize_to_format(W, format), torch.ones(N))
    state = {key: tensor.clone() for key, tensor in layer.state_dict().items()}
    state[name].view(-1)[3] = value
    for own in (GemLiteLinear(), layer):
        before = own.W_q
        with pytest.raises(RuntimeError, match=f"the saved layer's {name} must be finite, got a"):
            own.load_state_dict(state)
        assert own.W_q is before


@pytest.mark.parametrize("name", ["W_q", "metadata"])
def test_a_state_without_its_codes_says_so_alone(W, name):
    state = GemLiteLinear.from_coded(quantize_to_format(W, g.NF4)).state_dict()
    del state[name]
    with pytest.raises(RuntimeError, match=f'Missing key.* "{name}"') as info:
        GemLiteLinear().load_state_dict(state)
    assert "Unexpected" not in str(info.value)


def test_float32_x_beyond_float16_keeps_its_range(W, x):
    q, x = quantize_to_format(W, g.NF4), x * torch.tensor([[1e30], [1.0], [1e-25]])
    y = GemLiteLinear.from_coded(q, dtype=torch.float32)(x)
    assert_near(y, x, q, None, torch.float16)


def test_group_scales_beyond_every_16_bit_type(x):
    levels = Format(2, levels=(-1, 0, 1, 2), group_size=128, scale_dtype=torch.float8_e8m0fnu)
    codes = torch.randint(0, 4, (N, K), dtype=torch.uint8)
    scales = (2.0 ** torch.tensor([-100.0, 90.0])).expand(N, 2).to(torch.float8_e8m0fnu)
    q = CodedWeight(levels, codes, scales.contiguous())
    layer = GemLiteLinear.from_coded(q, dtype=torch.float32)
    assert_near(layer(x), x, q, None, torch.float16)


def test_codes_of_an_own_quantizer_from_a_linear_layer(x):
    linear = torch.nn.Linear(K, N).to(torch.bfloat16)
    mine = Format(4, levels=[k**3 / 343 for k in range(-8, 8)], group_size=64)
    calls = []

    def quantizer(W, format):
        calls.append(format)
        return quantize_to_format(W, format)

    layer = GemLiteLinear.from_linear(linear, mine, quantizer)
    q, x = quantize_to_format(linear.weight.detach(), mine), x.bfloat16()
    assert calls == [mine] and layer.format == mine
    assert_near(layer(x), x, q, linear.bias.detach(), torch.bfloat16)
    assert "levels from -1.4" in layer.explain()


def test_the_layer_is_one_operator_for_compile_and_export(W, x, fresh_compiler):
    layer, x = GemLiteLinear.from_coded(quantize_to_format(W, g.NF4)), x.half()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), layer(x))
    rows = torch.export.Dim("M", min=2, max=64)
    exported = torch.export.export(layer, (x,), dynamic_shapes={"x": {0: rows}})
    assert torch.equal(exported.module()(x[:2]), layer(x[:2]))


# Layers with levels of their own


def blocks_with_codebooks(count, dtype=torch.float16):
    """Blocks of two layers, each with 16 levels that no other layer has."""
    for i in range(count):
        of_block = torch.Generator().manual_seed(i)
        layers = []
        for shape in ((64, 32), (32, 64)):
            mine = Format(4, levels=torch.randn(16, generator=of_block), group_size=32)
            q = quantize_to_format(torch.randn(shape, generator=of_block), mine)
            layers.append(GemLiteLinear.from_coded(q, torch.ones(shape[0]), dtype))
        yield torch.nn.Sequential(layers[0], torch.nn.GELU(), layers[1])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_blocks_with_codebooks_of_their_own_share_one_graph(dtype, fresh_compiler):
    graphs, x = [], torch.randn(3, 32).to(dtype)

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    with torch._dynamo.config.patch(error_on_recompile=True):
        for block in blocks_with_codebooks(10, dtype):
            compiled = torch.compile(block, fullgraph=True, backend=backend)
            assert torch.equal(compiled(x), block(x))
    assert len(graphs) == 1


def test_layers_with_codebooks_of_their_own_share_one_build(monkeypatch):
    (one, _, _), (other, _, _) = blocks_with_codebooks(2)
    built, build = [], simulator.build_kernel
    monkeypatch.setattr(
        simulator, "build_kernel", lambda *of: built.append(build(*of)) or built[-1]
    )
    cuda_product._program.cache_clear()
    for layer in (one, other):
        x = torch.randn(2, 32, generator=torch.Generator().manual_seed(1)).half()
        y = layer.forward_manual(x, "GEMV_FAST")
        torch.testing.assert_close(y, layer.forward_manual(x, "DEQUANTIZE"), rtol=0.01, atol=0.01)
    assert one.format != other.format and len(built) == 1


def test_a_state_keeps_every_digit_of_the_levels(W, x):
    levels = [(1 + k) / 3**k for k in range(16)]
    layer = GemLiteLinear.from_coded(quantize_to_format(W, Format(4, levels=levels)))
    again = GemLiteLinear()
    again.load_state_dict(layer.state_dict())
    assert again.format == layer.format and again.format.levels == tuple(levels)
    assert not any("levels" in name for name in layer.state_dict())


def test_levels_follow_the_words_to_another_device(W):
    layer = GemLiteLinear.from_coded(quantize_to_format(W, g.NF4))
    layer.W_q = torch.nn.Parameter(layer.W_q.to("meta"), requires_grad=False)
    assert {buffer.device.type for name, buffer in layer.named_buffers() if "levels" in name} == {
        "meta"
    }
    assert {t.device.type for t in layer.to("meta").buffers()} == {"meta"}


def test_a_cast_of_the_model_does_not_round_the_levels(W, x):
    layer = GemLiteLinear.from_coded(quantize_to_format(W, g.NF4))
    y = layer(x.half())
    assert torch.equal(layer.half()(x.half()), y) and torch.equal(layer.double()(x.half()), y)


def test_the_operator_asks_for_the_levels_of_its_form(W, x):
    layer = GemLiteLinear.from_coded(quantize_to_format(W, g.NF4))
    tensors = layer.W_q, None, None, None, layer.channel_scales, None
    operands = x.half(), None, *tensors, layer._form_text, ""
    with pytest.raises(ValueError, match="need levels on cpu, got none"):
        torch.ops.gemlite_edu.linear(*operands)
    torch.library.opcheck(torch.ops.gemlite_edu.linear, (*operands, layer._levels))
    integers = GemLiteLinear.from_coded(quantize_to_format(W, g.INT8))
    tensors = integers.W_q, None, integers.scales, integers.zeros, integers.channel_scales, None
    with pytest.raises(ValueError, match="need no levels, got levels on cpu"):
        operands = x.half(), None, *tensors, integers._form_text, "", layer._levels
        torch.ops.gemlite_edu.linear(*operands)


def test_a_program_exported_with_its_levels_inside_is_refused(W, x):
    layer = GemLiteLinear.from_coded(quantize_to_format(W, g.NF4))
    *ints, _ = json.loads(layer._form_text)
    old = json.dumps([*ints, g.NF4.to_text()])
    with pytest.raises(ValueError, match="export its model again"):
        tensors = layer.W_q, None, None, None, layer.channel_scales, None
        torch.ops.gemlite_edu.linear(x.half(), None, *tensors, old, "")


FIXED_TEXTS = {  # with levels inside, as pair_table wrote them before levels were a tensor
    "prepare_pairs": """
__constant__ float LEVELS[4] = {-1.0f, 0.0f, 0.5f, 2.0f};
__shared__ half2 both[4];
__device__ void prepare_pairs() {
  if (threadIdx.x < 4) both[threadIdx.x] = __float2half2_rn(LEVELS[threadIdx.x]);
}""",
    "dequant_pair": """
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 2 * f;
  return __lows2half2(both[codes & 3], both[codes >> 16 & 3]);
}""",
}


def test_a_text_with_levels_inside_still_decodes(W, x):
    mine = Format(2, levels=(-1, 0, 0.5, 2), texts=FIXED_TEXTS)
    layer = GemLiteLinear.from_coded(quantize_to_format(W, mine))
    again = GemLiteLinear(trusted_texts=FIXED_TEXTS)
    again.load_state_dict(layer.state_dict())
    of_table = GemLiteLinear.from_coded(quantize_to_format(W, replace(mine, texts=None)))
    y = again.forward_manual(x.half(), "GEMV_FAST")
    assert torch.equal(y, of_table.forward_manual(x.half(), "GEMV_FAST"))


def test_a_text_that_takes_levels_needs_a_format_with_levels(W):
    mine = replace(g.INT4, texts=g.pair_table(g.NF4))
    with pytest.raises(ValueError, match="takes levels, and the format has none"):
        GemLiteLinear.from_coded(quantize_to_format(W, mine))


def test_texts_of_a_table_decode_no_levels_that_it_cannot_hold(x):
    """The same as without these texts: a table is of halves, and of as many levels."""
    levels, codes = [0.5 * code for code in range(16)], torch.arange(N * K).reshape(N, K) % 16
    large = Format(4, levels=[1e6, *levels[1:]], texts=g.pair_table(levels))
    layer = GemLiteLinear.from_coded(
        CodedWeight(large, codes.byte(), torch.full((N, 1), 1e-3).half())
    )
    with pytest.raises(ValueError, match="GEMV_FAST has no text that decodes this format"):
        layer.forward_manual(x.half(), "GEMV_FAST")
    few = Format(4, levels=levels, texts=g.pair_table(levels[:8]))
    with pytest.raises(ValueError, match="has 16 levels, and its texts are .* pair_table for 8"):
        GemLiteLinear.from_coded(CodedWeight(few, codes.byte(), torch.ones(N, 1).half()))


def test_triton_kernels_are_refused_for_levels(W, x):
    layer = GemLiteLinear.from_coded(quantize_to_format(W, g.NF4))
    with pytest.raises(ValueError, match="GEMV is for codes that are integers, and not in pieces"):
        layer.forward_manual(x.half(), "GEMV")


def test_a_text_for_another_kernels_hole_is_refused(W):
    mine = replace(g.NF4, texts={"dequant_dot": "..."})
    with pytest.raises(ValueError, match="holes dequant_pair and prepare_pairs, and the format"):
        GemLiteLinear.from_coded(quantize_to_format(W, mine))


@pytest.mark.parametrize("q", [None, torch.zeros(2, 2), g.NF4])
def test_from_coded_takes_a_coded_weight_alone(q):
    with pytest.raises(TypeError, match="takes a CodedWeight, got"):
        GemLiteLinear.from_coded(q)


def test_a_dtype_that_no_layer_has_is_refused(W):
    with pytest.raises(ValueError, match="dtype must be one of torch.float16"):
        GemLiteLinear.from_coded(quantize_to_format(W, g.NF4), dtype=torch.float64)


def model_of(layer):
    torch.manual_seed(3)
    return torch.nn.Sequential(layer, torch.nn.GELU(), torch.nn.Linear(N, 8).half())


@pytest.fixture
def trusted(W):
    return model_of(GemLiteLinear.from_coded(quantize_to_format(W, WITH_TEXTS)))


def by_save_file(model, path):
    save_file(model.state_dict(), path)
    return lambda fresh: fresh.load_state_dict(load_file(path))


def by_save_model(model, path):
    save_model(model, path)
    return lambda fresh: load_model(fresh, path)


def by_torch_save(model, path):
    torch.save(model.state_dict(), path)
    return lambda fresh: fresh.load_state_dict(torch.load(path))


def by_assign(model, path):
    save_file(model.state_dict(), path)
    return lambda fresh: fresh.load_state_dict(load_file(path), assign=True)


WAYS = [by_save_file, by_save_model, by_torch_save, by_assign]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_model_with_texts_comes_back_whole(way, device, trusted, x, tmp_path):
    load = way(trusted, tmp_path / "model")
    with torch.device(device if way is by_assign else "cpu"):
        fresh = model_of(GemLiteLinear(trusted_texts=TEXTS))
    load(fresh)
    assert torch.equal(fresh(x.half()), trusted(x.half()))


@pytest.mark.parametrize("way", WAYS)
def test_texts_that_nobody_trusts_are_not_taken(way, trusted, x, tmp_path):
    fresh = model_of(GemLiteLinear())
    with pytest.raises(UntrustedText, match="the state of 0 has CUDA text") as refusal:
        way(trusted, tmp_path / "model")(fresh)
    assert refusal.value.texts == TEXTS
    with pytest.raises(ValueError, match="no weights yet"):
        fresh(x.half())


def test_other_texts_than_the_trusted_ones_are_not_taken(trusted):
    others = TEXTS | {"dequant_pair": TEXTS["dequant_pair"] + "// "}
    with pytest.raises(UntrustedText):
        model_of(GemLiteLinear(trusted_texts=others)).load_state_dict(trusted.state_dict())


def test_a_state_without_its_format_does_not_run(trusted, x):
    state = {name: t for name, t in trusted.state_dict().items() if name != "0.metadata"}
    fresh = model_of(GemLiteLinear(trusted_texts=TEXTS))
    assert fresh.load_state_dict(state, strict=False).missing_keys == ["0.metadata"]
    with pytest.raises(ValueError, match="no weights yet"):
        fresh(x.half())


@pytest.mark.parametrize("damage", [300, -1, ord("x")])
def test_a_damaged_format_is_refused(damage, trusted):
    state = trusted.state_dict()
    state["0.metadata"][20] = damage
    with pytest.raises(RuntimeError, match="0.metadata"):
        model_of(GemLiteLinear(trusted_texts=TEXTS)).load_state_dict(state)


def test_a_pickled_layer_of_levels_comes_back(W, x):
    layer, file = GemLiteLinear.from_coded(quantize_to_format(W, g.NF4)), io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x.half()), layer(x.half()))


LENGTHS = [(name, K) for name in ("MXFP4", "NVFP4", "NF4", "log2 2") for K in (96, 672, 2880)]


@pytest.mark.parametrize("name, K", [*LENGTHS, ("INT4", 2880), ("INT8", 1440), ("FP8_E4M3", 100)])
def test_the_fast_kernel_reads_rows_of_any_length(name, K):
    q, x = quantize_to_format(torch.randn(8, K), preset(name)), torch.randn(1, K).half()
    layer = GemLiteLinear.from_coded(q)
    assert_near(layer.forward_manual(x, "GEMV_FAST"), x, q, None, torch.float16)


def test_short_rows_of_integers_are_packed_without_padding():
    layer = GemLiteLinear.from_coded(quantize_to_format(torch.randn(8, 96), g.INT4))
    assert layer.layout.padded_K == 96


def test_a_tied_layer_is_saved_once(W, x, tmp_path):
    layer = GemLiteLinear.from_coded(quantize_to_format(W, g.NF4), torch.randn(N).half())
    save_model(torch.nn.ModuleList([layer, layer]), tmp_path / "tied")
    other = GemLiteLinear.from_coded(quantize_to_format(2 * W, g.NF4), torch.randn(N).half())
    again = torch.nn.ModuleList([other, other])
    load_model(again, tmp_path / "tied")
    assert torch.equal(again[1](x.half()), layer(x.half()))


def test_a_quantizer_of_another_shape_is_refused():
    def transposed(W, format):
        return quantize_to_format(W.T.contiguous(), format)

    with pytest.raises(ValueError, match="got W .8, 64. and returned codes .64, 8."):
        GemLiteLinear.from_linear(torch.nn.Linear(64, 8), g.NF4, transposed)


def test_a_linear_layer_on_meta_is_refused():
    with pytest.raises(ValueError, match="the weight has no numbers"):
        GemLiteLinear.from_linear(torch.nn.Linear(64, 8, device="meta"), g.NF4)


def test_trusted_texts_are_a_dict():
    with pytest.raises(TypeError, match="trusted_texts must be a dict"):
        GemLiteLinear(trusted_texts=True)
