"""`quantize_` and `patch_model`: whole models, changed in place or not at all."""

import copy
import sys
import weakref
from types import SimpleNamespace

import pytest
import torch

import gemlite_edu as g
from gemlite_edu import CodedWeight, Format, GemLiteLinear, quantize_, quantize_to_format
from gemlite_edu.helper import A16W8, A16Wn, patch_model

K = 64


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(K, 96)
        self.down = torch.nn.Linear(96, K, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Model(torch.nn.Module):
    """Two blocks, of which `again` is a second name of the first, and a head."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(10, K)
        self.blocks = torch.nn.ModuleList([Block(), Block()])
        self.again = self.blocks[0]
        self.lm_head = torch.nn.Linear(K, 10)

    def forward(self, x):
        for block in (*self.blocks, self.again):
            x = block(x)
        return self.lm_head(x)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Model().requires_grad_(False)


@pytest.fixture
def x():
    return torch.randn(3, K, generator=torch.Generator().manual_seed(1))


def with_dense_weights(model, format):
    """The model with the weights that the codes stand for, made without the package's layers."""
    dense = copy.deepcopy(model)
    for block in dense.blocks:
        for linear in (block.up, block.down):
            linear.weight.copy_(quantize_to_format(linear.weight, format).dequantize())
    return dense


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("format", [g.NF4, Format(5, group_size=32)], ids=["NF4", "5 bits"])
def test_the_model_computes_with_the_quantized_weights(model, x, format, dtype):
    model, x = model.to(dtype), x.to(dtype)
    expected = with_dense_weights(model, format)(x)
    assert quantize_(model, format) is model
    eps = torch.finfo(torch.float16 if dtype == torch.float32 else dtype).eps
    assert model(x).dtype == dtype
    assert ((model(x) - expected).norm() / expected.norm()) < 4 * eps


def test_names_biases_modes_and_what_is_skipped_stay(model):
    biases = {name: p.clone() for name, p in model.named_parameters() if name.endswith("bias")}
    head, names = model.lm_head, [name for name, _ in model.named_modules()]
    quantize_(model.eval(), 3)
    assert [name for name, _ in model.named_modules()] == names
    assert model.lm_head is head and model.again.up is model.blocks[0].up
    assert isinstance(model.again.up, GemLiteLinear) and not model.again.up.training
    for name, bias in biases.items():
        assert torch.equal(model.get_parameter(name), bias)


def test_the_summary_adds_up_and_names_the_worst_layer(model):
    errors = {
        f"blocks.{i}.{name}": quantize_to_format(linear.weight, g.NF4).error(linear.weight)
        for i, block in enumerate(model.blocks)
        for name, linear in block.named_children()
    }
    summary = quantize_(model, g.NF4).quantization_summary
    assert {layer.name: layer.error for layer in summary.layers} == errors
    assert summary.bytes_before == 4 * K * 96 * 4
    assert summary.bytes_after == sum(
        tensor.nbytes
        for block in model.blocks
        for layer in block.children()
        for name, tensor in layer.named_parameters()
        if name != "bias"
    )
    assert summary.worst.name == max(errors, key=errors.get)
    first, second, third = repr(summary).splitlines()
    elsewhere = [p for name, p in model.named_parameters() if not name.startswith("blocks.")]
    assert third == f"{sum(p.numel() for p in elsewhere):,} parameters elsewhere stay as they were"
    bits = 8 * summary.bytes_after / 24576
    assert (
        first
        == f"4 layers of 24,576 weights: 98.3 kB before, 21.1 kB after ({bits:.2f} bits a weight)"
    )
    worst = f'{max(errors.values()):.3f} in layer "{summary.worst.name}"'
    assert second == f"largest error ||W' - W|| / ||W||: {worst}"


@pytest.mark.parametrize("nbits", range(1, 9))
def test_an_int_is_a_format_of_integers(model, nbits):
    quantize_(model, nbits, group_size=32)
    layer = model.blocks[0].up
    assert (layer.W_nbits, layer.group_size, layer.format) == (nbits, 32, None)


@pytest.mark.parametrize("skip", [("blocks.0", "lm_head"), ("0",), ("0.up", "0.down")])
def test_skip_leaves_whole_modules_alone(model, skip):
    quantize_(model, g.NF4, skip=skip)
    assert isinstance(model.blocks[1].up, GemLiteLinear)
    assert type(model.blocks[0].up) is type(model.blocks[0].down) is torch.nn.Linear
    assert isinstance(model.lm_head, GemLiteLinear) == ("lm_head" not in skip)


def test_an_own_quantizer_gets_each_weight_once(model):
    mine, seen = Format(2, levels=(-1, -0.25, 0.25, 1), group_size=32), []

    def quantizer(W, format):
        seen.append(tuple(W.shape))
        return quantize_to_format(W, format)

    quantize_(model, mine, quantizer=quantizer)
    assert seen == [(96, K), (K, 96)] * 2 and model.blocks[1].down.format == mine


def test_a_quantizer_may_change_the_w_that_it_gets(model):
    linear, W = model.blocks[0].up, model.blocks[0].up.weight.clone()

    def quantizer(W, format):
        q = quantize_to_format(W, format)
        W.zero_()
        return q

    GemLiteLinear.from_linear(linear, g.NF4, quantizer)
    quantize_(model, g.NF4, quantizer=quantizer)
    assert torch.equal(linear.weight, W) and model.quantization_summary.worst.error < 0.2


def test_code_that_reads_a_weight_is_told_to_skip_the_layer(model):
    """As transformers' T5 does, which looks at wo.weight.dtype."""
    layer = quantize_(model, 4).blocks[0].up
    assert not hasattr(layer, "weight") and not hasattr(layer, "other")
    with pytest.raises(AttributeError, match="has no weight, .*: leave that layer out by its name"):
        str(layer.weight)


def test_none_skips_nothing_and_takes_the_packages_quantizer(model):
    quantize_(model, g.NF4, skip=None)
    assert isinstance(model.lm_head, GemLiteLinear)
    linear = torch.nn.Linear(K, 4)
    made = [GemLiteLinear.from_linear(linear, g.NF4, *given) for given in ((), (None,))]
    assert torch.equal(made[0].W_q, made[1].W_q)
    patch_model(model_of_halves := Model().half(), "cpu", A16W8, skip_modules=None)
    assert isinstance(model_of_halves.lm_head, GemLiteLinear)
    with pytest.raises(ValueError, match="hqq quantizes to integers"):
        GemLiteLinear.from_linear(linear, g.NF4, "hqq")


def test_a_second_summary_says_that_its_layers_are_new(model):
    quantize_(model, g.NF4, skip=("blocks.0", "lm_head"))
    assert repr(quantize_(model, g.NF4).quantization_summary).startswith("2 new layers of 12,288 w")


def test_codes_on_meta_get_a_sentence(model):
    def quantizer(W, format):
        codes = torch.zeros(W.shape, dtype=torch.uint8, device="meta")
        return CodedWeight(format, codes, torch.ones(len(W), 1, device="meta").half())

    with pytest.raises(ValueError, match="blocks.0.up: codes have no numbers, because they are on"):
        quantize_(model, g.NF4, quantizer=quantizer)


def test_no_weight_outlives_its_layer(model):
    """So the memory beyond the model is that of one layer."""
    linears = [linear for block in model.blocks for linear in block.children()]
    weights, alive = [weakref.ref(linear.weight) for linear in linears], []
    del linears

    def quantizer(W, format):
        alive.append(sum(weight() is not None for weight in weights))
        return quantize_to_format(W, format)

    quantize_(model, g.NF4, quantizer=quantizer)
    assert alive == [4, 3, 2, 1]


def encoder():
    layer = torch.nn.TransformerEncoderLayer(K, 4, 2 * K, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2).eval().requires_grad_(False)


@pytest.mark.parametrize("padded", [False, True])
def test_torchs_own_encoder_still_runs(padded, tmp_path):
    """Its fast path, which it takes in eval(), would read linear1.weight."""
    dense, x = encoder(), torch.randn(2, 3, K)
    padding = torch.tensor([[False, False, False], [False, False, True]]) if padded else None
    model = quantize_(copy.deepcopy(dense), g.FP8_E4M3, skip=("layers.0",))
    dense.use_nested_tensor = False  # torch warns of its own prototype
    expected = dense(x, src_key_padding_mask=padding)
    quantize_(model, g.FP8_E4M3)
    g.save_quantized(model, tmp_path / "model")
    for quantized in (model, g.load_quantized(tmp_path / "model", encoder())):
        with torch.inference_mode():
            y = quantized(x, src_key_padding_mask=padding)
        torch.testing.assert_close(quantized(x, src_key_padding_mask=padding), y)
        real = ~padding if padded else slice(None)
        error = (y[real] - expected[real]).norm() / expected[real].norm()
        assert 0 < error < 0.05


def tie(model):
    model.embed.weight = torch.nn.Parameter(torch.ones(96, K))
    model.blocks[1].up.weight = model.embed.weight


def spoil(model):
    model.blocks[1].down.weight[3, 5] = float("nan")


def spoil_bias(model):
    model.blocks[1].up.bias[2] = float("inf")


def enlarge(model):
    model.blocks[1].down.weight[3, 5] = 1e7


def shrink(model):
    model.blocks[1].down.weight *= 1e-9


def hook(model):
    model.blocks[1].up.register_forward_hook(print)


def to_double(model):
    model.blocks[1].up.double()


def to_meta(model):
    model.blocks[1].up.to("meta")


def weight_norm(model):
    torch.nn.utils.weight_norm(model.blocks[1].up)


BAD_MODELS = {
    "tied": (tie, "blocks.1.up.weight is also embed.weight, and quantizing would untie"),
    "NaN": (spoil, r"blocks.1.down: W\[3, 5\] is nan"),
    "bias": (spoil_bias, "blocks.1.up: the bias has NaN or infinite entries"),
    "too large": (enlarge, "blocks.1.down: a scale of .* does not fit in float16"),
    "too small": (shrink, "blocks.1.down: a scale of .* is too small for float16: multiply W"),
    "hook": (hook, "blocks.1.up has hooks"),
    "double": (to_double, "blocks.1.up: the weight must be .*, got torch.float64"),
    "meta": (to_meta, "blocks.1.up: the weight has no numbers, because it is on meta"),
    "weight norm": (weight_norm, "blocks.1.up computes its weight anew"),
}


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm`:FutureWarning")
@pytest.mark.parametrize(("change", "sentence"), BAD_MODELS.values(), ids=BAD_MODELS)
def test_a_model_that_cannot_be_quantized_stays_as_it_is(model, change, sentence):
    change(model)
    with pytest.raises((TypeError, ValueError), match=sentence):
        quantize_(model, g.NF4)
    assert not any(isinstance(module, GemLiteLinear) for module in model.modules())


BAD_ARGUMENTS = {
    "no module": (dict(model={}), "model must be a torch.nn.Module, got dict"),
    "a Linear": (dict(model=torch.nn.Linear(2, 2)), "is itself a torch.nn.Linear, which cannot"),
    "no Linear": (dict(model=torch.nn.ReLU()), "the ReLU has no torch.nn.Linear to quantize: "),
    "all skipped": (dict(skip=("blocks", "lm_head")), "no torch.nn.Linear .* other than those in"),
    "unknown skip": (dict(skip=("head",)), "skip has 'head', and the model has no module"),
    "skip is a text": (dict(skip="lm_head"), "skip must be a list or tuple of names"),
    "skip is a number": (dict(skip=3), "skip must be a list or tuple of names"),
    "9 bits": (dict(format=9), "nbits must be from 1 to 8, got 9"),
    "a bool": (dict(format=True), "nbits must be an int from 1 to 8, got bool"),
    "a name": (
        dict(format="NF4"),
        "format must be an int from 1 to 8, or a Format such as NF4, got ",
    ),
    "group": (dict(group_size=64), "blocks.0.down: group_size = 64 does not divide K = 96"),
    "hqq of NF4": (dict(quantizer="hqq"), "hqq quantizes to integers"),
    "no function": (dict(quantizer="gptq"), 'quantizer must be a function .*, "hqq" or None, got'),
}


@pytest.mark.parametrize(("arguments", "sentence"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_bad_arguments_get_one_sentence(model, arguments, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        quantize_(**{"model": model, "format": g.NF4} | arguments)
    assert not any(isinstance(module, GemLiteLinear) for module in model.modules())


def test_a_model_without_linear_layers_is_told_why(model):
    quantize_(model, 4)
    with pytest.raises(ValueError, match="because it is quantized already: 4 layers are GemLite"):
        quantize_(model, 4)
    conv = type("Conv1D", (torch.nn.Module,), {})
    with pytest.raises(ValueError, match="no torch.nn.Linear to quantize, but 2 Conv1D, as trans"):
        quantize_(torch.nn.Sequential(conv(), conv()), 4)


def test_from_linear_says_which_format_a_width_is():
    with pytest.raises(TypeError, match="must be a gemlite_edu.Format, .* got 4: pass INT4"):
        GemLiteLinear.from_linear(torch.nn.Linear(2, 2), 4)


def test_a_quantizer_that_fails_half_way_can_be_called_again(model):
    def fails(W, format):
        raise RuntimeError("no memory")

    def fails_at_down(W, format):
        return quantize_to_format(W, format) if len(W) == 96 else fails(W, format)

    with pytest.raises(RuntimeError, match="no memory") as info:
        quantize_(model, g.NF4, quantizer=fails_at_down)
    assert info.value.__notes__ == [
        "layers quantized before it: 1; call quantize_ again for the rest"
    ]
    assert len(quantize_(model, g.NF4).quantization_summary.layers) == 3


@pytest.mark.parametrize("codes", [None, torch.zeros(4, 4, dtype=torch.uint8)])
def test_a_quantizer_that_returns_something_else_is_refused(model, codes):
    def quantizer(W, format):
        return codes if codes is None else CodedWeight(g.NF4, codes, torch.ones(4, 1).half())

    sentence = (
        "must return a CodedWeight, and returned NoneType" if codes is None else "got W .* and"
    )
    with pytest.raises((TypeError, ValueError), match=f"blocks.0.up: the quantizer {sentence}"):
        quantize_(model, g.NF4, quantizer=quantizer)


def test_hqq_without_the_library_is_one_sentence(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "hqq.core.quantize", None)
    with pytest.raises(ImportError, match='quantizer="hqq" needs the hqq library, .*: pip install'):
        quantize_(model, 4, quantizer="hqq")


def test_hqqs_codes_scales_and_zeros_arrive(model, x, monkeypatch):
    """A double with the signature of hqq 0.2.8: codes q of w = (q - zero) * scale, per group."""

    class Quantizer:
        SUPPORTED_BITS = [8, 6, 5, 4, 3, 2, 1.58, 1]

        @staticmethod
        def quantize(tensor, nbits, group_size, axis, bitpack, device):
            q = g.quantize_linear(tensor, nbits, group_size, integer_zeros=False)
            meta = {"scale": q.scales.reshape(-1, 1), "zero": q.zeros.reshape(-1, 1)}
            return q.W_q.reshape(-1, group_size).float(), meta

    module = SimpleNamespace(Quantizer=Quantizer)
    monkeypatch.setitem(sys.modules, "hqq.core.quantize", module)
    monkeypatch.setitem(sys.modules, "hqq.core", module)
    monkeypatch.setitem(sys.modules, "hqq", module)
    expected = model.blocks[0].up(x)
    quantize_(model, Format(5, group_size=32), quantizer="hqq")
    y = model.blocks[0].up(x)
    assert 0 < (y - expected).norm() / expected.norm() < 0.1
    with pytest.raises(ValueError, match="hqq has no codes of 7 bits"):
        quantize_(Model(), 7, quantizer="hqq")


def test_patch_model_has_the_calls_of_gemlite(model, x):
    model, x = model.half(), x.half()
    expected, head = model(x), model.lm_head
    assert patch_model(model, "cpu", A16W8, skip_modules=["head"]) is model
    assert isinstance(model.again.up, GemLiteLinear) and model.lm_head is head
    assert 0 < (model(x) - expected).norm() / expected.norm() < 0.02


def test_patch_model_refuses_before_it_changes(model):
    for arguments, sentence in (
        (("cpu", A16W8), "blocks.0.up must have 16-bit weights, not on meta, got torch.float32"),
        (("cpu", A16Wn), "A16Wn takes layers of the hqq library, and the Model has none: no"),
        (("cuda:99", A16W8), "device is cuda:99, and torch sees "),
        (("meta", A16W8), "device must be cpu or cuda, got 'meta'"),
        (
            ("cpu", A16W8, ["up", "down", "head"]),
            "takes torch.nn.Linear layers, and the Model has none outside",
        ),
        (("cpu", "A16W8"), "processor must be a class of gemlite_edu.helper"),
        (("cpu", A16W8, "lm_head"), "skip_modules must be a list or tuple of names"),
        (("cpu", A16W8, ["haed"]), "skip_modules has 'haed', and the model has no module of"),
    ):
        with pytest.raises((TypeError, ValueError)) as info:
            patch_model(model, *arguments)
        assert sentence in str(info.value)
    spoil(model)
    with pytest.raises(ValueError, match=r"blocks.1.down: W\[3, 5\] is nan"):
        patch_model(model.half(), "cpu", A16W8)
    assert not any(isinstance(module, GemLiteLinear) for module in model.modules())
    with pytest.raises(ValueError, match=r"in place: call A16W8\(device\).from_linear\(model\)"):
        patch_model(torch.nn.Linear(2, 2), "cpu", A16W8)
