"""`calibrated`: each layer of a model gets GPTQ's codes for the inputs that it really has."""

import gc
import weakref

import pytest
import torch

from gemlite_edu import INT2, INT3, GemLiteLinear, calibrated, quantize_, quantize_gptq

K = 64


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(K, 96)
        self.down = torch.nn.Linear(96, K)
        self.unused = torch.nn.Linear(K, K)
        self.lm_head = torch.nn.Linear(K, 10)

    def forward(self, x, scale=1.0):
        return self.lm_head(scale * x + self.down(torch.relu(self.up(x))))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Model().requires_grad_(False)


@pytest.fixture
def batches():
    generator = torch.Generator().manual_seed(1)
    mixing = torch.randn(K // 2, K, generator=generator)
    return [torch.randn(2, 40, K // 2, generator=generator) @ mixing for _ in range(3)]


def hessian_of(x):
    x = torch.cat([one.reshape(-1, one.shape[-1]) for one in x])
    return x.T @ x


def dense(layer):
    """The weights of a layer, as it multiplies a unit matrix."""
    return layer(torch.eye(layer.in_features)).T - layer.bias[:, None]


SKIP = ("unused", "lm_head")


def test_each_layer_gets_the_codes_for_its_own_inputs(model, batches):
    inner = [torch.relu(model.up(x)) for x in batches]
    expected = {
        "up": quantize_gptq(model.up.weight, INT3, hessian_of(batches)),
        "down": quantize_gptq(model.down.weight, INT3, hessian_of(inner)),
    }
    quantize_(model, INT3, skip=SKIP, quantizer=calibrated(model, batches))
    for name, q in expected.items():
        assert isinstance(layer := getattr(model, name), GemLiteLinear)
        torch.testing.assert_close(dense(layer), q.dequantize(), atol=3e-3, rtol=0)


def test_the_outputs_are_nearer_than_with_rounding(model, batches):
    x, errors = torch.cat(batches), []
    y = model(x)
    for is_calibrated in (False, True):
        torch.manual_seed(0)
        model = Model().requires_grad_(False)
        quantizer = calibrated(model, batches) if is_calibrated else None
        quantize_(model, INT2, group_size=32, skip=SKIP, quantizer=quantizer)
        errors.append((model(x) - y).norm() / y.norm())
    assert errors[1] < 0.7 * errors[0]


def test_with_little_memory_a_layer_sees_the_quantized_layers_before_it(model, batches):
    quantizer = calibrated(model, batches, most_bytes=1)
    down = model.down
    quantize_(model, INT3, skip=("down", *SKIP), quantizer=quantizer)
    inner = [torch.relu(model.up(x)) for x in batches]
    expected = quantize_gptq(down.weight, INT3, hessian_of(inner))
    quantize_(model, INT3, skip=SKIP, quantizer=quantizer)
    torch.testing.assert_close(dense(model.down), expected.dequantize(), atol=3e-3, rtol=0)


@pytest.mark.parametrize(("most_bytes", "runs"), [(1, 3), (2**16, 2), (2**31, 1)])
def test_the_model_runs_only_for_layers_whose_hessian_did_not_fit(model, batches, most_bytes, runs):
    """Hessians take 16, 36, 16 and 16 KiB."""
    count = []
    quantizer = calibrated(model, [batches[0]], most_bytes)
    model.register_forward_pre_hook(lambda *_: count.append(1))
    for linear in (model.up, model.down, model.lm_head):
        quantizer.of_layer(linear)
        assert sum(h.nbytes for h in quantizer._hessians.values()) <= max(most_bytes, 4 * 96**2)
    assert len(count) == runs - 1  # without the first


def test_it_keeps_no_layer_alive_and_leaves_no_hook(model, batches):
    quantizer, up = calibrated(model, batches), weakref.ref(model.up)
    assert not any(module._forward_pre_hooks for module in model.modules())
    quantize_(model, INT3, skip=SKIP, quantizer=quantizer)
    gc.collect()
    assert up() is None and len(quantizer._hessians) == 2


def test_a_batch_may_name_its_arguments(model, batches):
    named = [{"x": x, "scale": 2.0} for x in batches]
    assert calibrated(model, named).of_layer(model.lm_head)


def test_a_model_that_does_not_take_a_batch_is_one_sentence_and_keeps_no_hook(model, batches):
    for wrong, sentence in (
        ([torch.ones(3, K + 1)], r"a batch gives up x \(3, 65\), which takes \(..., 64\)"),
        ([batches[0], (batches[1],)], r"the model does not take batch 1, a tuple \(.*\): each ba"),
        (["a text"], r"the model does not take batch 0, a str \("),
        ([{"z": batches[0]}], r"the model does not take batch 0, a dict \("),
    ):
        with pytest.raises((TypeError, ValueError), match=sentence):
            calibrated(model, wrong)
        assert not any(module._forward_pre_hooks for module in model.modules())


def test_a_layer_may_be_called_by_keyword(batches):
    class ByKeyword(torch.nn.Sequential):
        def forward(self, x):
            return self[0](input=x)

    model = ByKeyword(torch.nn.Linear(K, 8)).requires_grad_(False)
    hessian = calibrated(model, batches).of_layer(model[0]).keywords["hessian"]
    torch.testing.assert_close(hessian, hessian_of(batches), atol=1e-2, rtol=1e-4)


BAD_BATCHES = {
    "a tensor": (torch.ones(2, K), "batches must be a list of inputs of the model, got a Tensor"),
    "a dict": ({"x": torch.ones(2, K)}, "batches must be a list of inputs .*, got a dict"),
    "a generator": ((x for x in [torch.ones(2, K)]), "batches can be read only once"),
    "a text": ("hi", "batches must be a list of inputs of the model, got a str"),
    "an empty list": ([], "batches are empty: give the model at least one input"),
    "a number": (3, "batches must be a list of inputs of the model, got a int"),
}


@pytest.mark.parametrize(("batches", "sentence"), BAD_BATCHES.values(), ids=BAD_BATCHES)
def test_batches_that_are_none_get_one_sentence(model, batches, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        calibrated(model, batches)


def test_what_a_layer_cannot_be_quantized_for_is_one_sentence(model, batches):
    for wrong, sentence in (
        ((torch.nn.ReLU(), batches), "the ReLU has no torch.nn.Linear to quantize"),
        ((model.up, batches), r"is itself a torch.nn.Linear.*call quantize_gptq\(W, format, h"),
        ((Model().to("meta"), batches), "the weight of up is on meta, without numbers: load the"),
        ((model, batches, 0), "most_bytes must be an int of at least 1, got 0"),
    ):
        with pytest.raises(ValueError, match=sentence):
            calibrated(*wrong)
    with pytest.raises(ValueError, match="up: this layer is not in the model that was calibrated"):
        quantize_(Model().requires_grad_(False), 4, quantizer=calibrated(model, batches))


def test_a_hessian_that_cannot_be_used_leaves_the_model_as_it_was(model, batches):
    with pytest.raises(ValueError, match="unused: the layer got no inputs but zeros"):
        quantize_(model, 4, quantizer=calibrated(model, batches))
    spoilt = [torch.full((1, K), torch.inf)]
    with pytest.raises(ValueError, match="up: the layer got NaN, infinite or too large inputs"):
        quantize_(model, 4, skip=SKIP, quantizer=calibrated(model, spoilt))
    with torch.no_grad():
        model.down.weight[3, 5] = 1e7
    with pytest.raises(ValueError, match="down: a scale of .* does not fit in float16"):
        quantize_(model, 4, skip=SKIP, quantizer=calibrated(model, batches))
    assert not any(isinstance(module, GemLiteLinear) for module in model.modules())


def test_a_hessian_of_a_later_run_is_checked_when_it_comes(model, batches):
    with pytest.raises(ValueError, match="unused: the layer got no inputs but zeros") as info:
        quantize_(model, 4, quantizer=calibrated(model, batches, most_bytes=1))
    assert info.value.__notes__[0].startswith("layers quantized before it: 2")
