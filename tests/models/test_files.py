"""Folders: a loaded model is the saved one, and no damaged folder loads or changes a model."""

import copy
import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

import gemlite_edu as g
from gemlite_edu import (
    GemLiteLinear,
    UntrustedText,
    load_checkpoint,
    load_quantized,
    quantize_,
    save_quantized,
)
from gemlite_edu.models.saved_layers import saved_forms
from gemlite_edu.models.shards import Shards, write_shards

K = 64
TEXTS = g.pair_table(g.NF4)


class Model(torch.nn.Module):
    """With a tied head, a layer that has two names, and buffers that are saved and not saved."""

    def __init__(self, inner=96):
        super().__init__()
        self.embed = torch.nn.Embedding(10, K)
        self.up, self.down = torch.nn.Linear(K, inner), torch.nn.Linear(inner, K, bias=False)
        self.again = self.up
        self.register_buffer("shift", torch.arange(K).half())
        self.own = torch.nn.Module()
        self.own.W_q = torch.nn.Parameter(torch.ones(3))  # no packed layer
        self.lm_head = torch.nn.Linear(K, 10, bias=False)
        self.lm_head.weight = self.embed.weight

    def forward(self, tokens):
        x = self.embed(tokens) + self.shift
        return self.lm_head(x + self.down(torch.relu(self.up(x)) + self.again(x)))


TOKENS = torch.arange(10)


def on_meta(**sizes):
    with torch.device("meta"):
        return Model(**sizes)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return quantize_(Model().half().requires_grad_(False), g.NF4)


@pytest.fixture
def folder(model, tmp_path):
    save_quantized(model, tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("fresh", [on_meta, Model], ids=["on meta", "with weights"])
def test_a_loaded_model_is_the_saved_one_bit_for_bit(model, folder, fresh):
    again = fresh().requires_grad_(False)
    assert load_quantized(folder, again) is again
    assert torch.equal(again(TOKENS), model(TOKENS))
    assert again.up is again.again and again.lm_head.weight is again.embed.weight
    state = again.state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())
    assert {t.dtype for t in again.parameters()} == {t.dtype for t in model.parameters()}


def test_the_folder_has_one_file_of_tensors_and_each_tensor_once(folder):
    assert {path.name for path in folder.iterdir()} == {"model.safetensors", "config.json"}
    names = load_file(folder / "model.safetensors").keys()
    assert "up.W_q" in names and not any(n.startswith(("again", "lm_head")) for n in names)
    config = json.loads((folder / "config.json").read_text())
    assert config["quantization_config"] == {"quant_method": "gemlite_edu", "version": 1}


def test_an_existing_folder_is_refused_and_stays(model, folder):
    before = (folder / "model.safetensors").read_bytes()
    with pytest.raises(ValueError, match="already exists: remove it, or choose another name"):
        save_quantized(model, folder)
    assert (folder / "model.safetensors").read_bytes() == before


def test_a_failed_save_leaves_no_folder(model, tmp_path, monkeypatch):
    def fails(*arguments, **options):
        raise OSError("disk full")

    monkeypatch.setattr("gemlite_edu.models.shards.save_file", fails)
    with pytest.raises(OSError, match="disk full"):
        save_quantized(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def without(name):
    def change(tensors, config):
        del tensors[name]

    return change


def shorter_scales(tensors, config):
    tensors["up.channel_scales"] = tensors["up.channel_scales"][:-1]


def other_words(tensors, config):
    tensors["up.W_q"] = tensors["up.W_q"].short()


def other_embedding(tensors, config):
    tensors["embed.weight"] = tensors["embed.weight"][:, :-1].contiguous()


def one_more(tensors, config):
    tensors["more"] = torch.ones(1)


def one_more_of_a_layer(tensors, config):
    tensors["down.foo"] = torch.ones(3)


def no_such_tied(tensors, config):
    config["same_as"]["lm_head.weight"] = "nothing"


def untied(tensors, config):
    del config["same_as"]["lm_head.weight"]
    tensors["lm_head.weight"] = tensors["embed.weight"].clone()


def other_method(tensors, config):
    config["quantization_config"]["quant_method"] = "gptq"


def other_version(tensors, config):
    config["quantization_config"]["version"] = 2


def not_finite(tensors, config):
    tensors["up.bias"][3] = float("nan")


def other_class(tensors, config):
    config["architectures"] = ["Other"]


def no_names(tensors, config):
    config["same_as"] = ["lm_head.weight"]


def no_method(tensors, config):
    del config["quantization_config"]


def only_dense(tensors, config):
    for name in list(tensors):
        if name.startswith(("up", "down")):
            del tensors[name]
    config["same_as"] = {}


CHANGES = {
    "no scales": (without("down.channel_scales"), "down.metadata: the saved layer must have chan"),
    "no metadata": (without("down.metadata"), "the packed layer down without its metadata: save"),
    "no codes": (without("down.W_q"), "the folder has the packed layer down without its W_q: save"),
    "not finite": (not_finite, "up is damaged: metadata: the saved layer's bias must be finite, "),
    "other class": (other_class, "holds a Other, and the model is a Model: pass a model of that c"),
    "no bias": (without("up.bias"), "says that again.bias equals up.bias, which no file"),
    "no buffer": (without("shift"), "the model needs, and .* does not have, 1 tensor: shift"),
    "short scales": (shorter_scales, r"must have channel_scales \(96,\) .*, got \(95,\)"),
    "other words": (other_words, "up.metadata: the saved layer must have W_q"),
    "embedding": (other_embedding, r"embed.weight is \(10, 63\) in .*, and \(10, 64\) in the"),
    "one more": (one_more, "has, and the model does not take, 1 tensor: more"),
    "one more of a layer": (one_more_of_a_layer, "the model does not take, 1 tensor: down.foo"),
    "no tied": (no_such_tied, "says that lm_head.weight equals nothing, which no file has"),
    "no names": (no_names, "same_as in the config of .* must map names to names"),
    "untied": (untied, "embed.weight and lm_head.weight are one in the model and two"),
    "gptq": (other_method, "its quant_method is 'gptq'; load_checkpoint reads folders of gptq"),
    "version": (other_version, "has version 2 of the layout, and this gemlite_edu reads 1"),
    "no method": (no_method, "was not written by save_quantized: its quant_method is None"),
    "dense": (only_dense, "has no packed layer, but its config says so"),
}


@pytest.mark.parametrize(("change", "sentence"), CHANGES.values(), ids=CHANGES)
def test_a_folder_that_lies_is_refused_and_the_model_unchanged(folder, change, sentence):
    tensors = load_file(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    change(tensors, config)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    refuses(folder, sentence)


def refuses(folder, sentence):
    model = Model()
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(ValueError, match=sentence) as info:
        load_quantized(folder, model)
    assert "\n" not in str(info.value)
    after = model.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[n], after[n]) for n in before)


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


DAMAGES = {
    "cut tensors": (lambda f: cut(f / "model.safetensors", 999), "is damaged or half written"),
    "no tensors": (lambda f: (f / "model.safetensors").unlink(), "has no .safetensors file"),
    "cut config": (lambda f: cut(f / "config.json", 20), "config.json is damaged or half written"),
    "no config": (lambda f: (f / "config.json").unlink(), "has no config.json: is it the right"),
    "a list": (lambda f: (f / "config.json").write_text("[]"), "must be a JSON object, got list"),
}


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_folder_is_refused(folder, damage, sentence):
    damage(folder)
    refuses(folder, sentence)


def no_such_layer(model):
    model.down = torch.nn.Identity()


def with_bias(model):
    model.down = torch.nn.Linear(96, K)


def unsaved_buffer(model):
    model.register_buffer("angles", torch.ones(3, device="meta"), persistent=False)


MODELS = {
    "no layer": (no_such_layer, "the folder has a packed layer down, and the model no such Linear"),
    "bias": (with_bias, "down has a bias in the model, other than in the folder"),
    "buffer": (unsaved_buffer, "angles is on meta, and .* a state_dict leaves it out"),
}


@pytest.mark.parametrize(("change", "sentence"), MODELS.values(), ids=MODELS)
def test_a_model_that_does_not_fit_is_refused(folder, change, sentence):
    model = Model()
    change(model)
    with pytest.raises(ValueError, match=sentence):
        load_quantized(folder, model)
    assert type(model.up) is torch.nn.Linear


def test_other_arguments_are_refused(folder, model, tmp_path):
    with pytest.raises(ValueError, match=r" is \(\d+, \d+\) in the folder and \(\d+, \d+\) in the"):
        load_quantized(folder, on_meta(inner=80))
    with pytest.raises(ValueError, match="holds a Model that is not of transformers: pass a model"):
        load_quantized(folder)
    with pytest.raises(TypeError, match="model must be a torch.nn.Module or None, got str"):
        load_quantized(folder, "Model")
    for load in (load_quantized, load_checkpoint):
        with pytest.raises(TypeError, match="folder must be a path, a str or .*, got Model$"):
            load(model, folder)
        for device in ("meta", "gpu"):
            with pytest.raises(ValueError, match=f"device must be cpu or cuda, got '{device}'"):
                load(folder, Model(), device)
    with pytest.raises(ValueError, match="the Model has no GemLiteLinear: call quantize_ first"):
        save_quantized(Model(), tmp_path / "other")
    with pytest.raises(TypeError, match="model must be a torch.nn.Module, got dict"):
        save_quantized({}, tmp_path / "other")
    with pytest.raises(TypeError, match="folder must be a path, a str or os.PathLike, got int"):
        save_quantized(model, 5)
    with pytest.raises(ValueError, match="cannot be made, because .*config.json is a file: choose"):
        save_quantized(model, folder / "config.json" / "one" / "two")
    with pytest.raises(ValueError, match="up has no weights yet: call its pack, or leave it out"):
        save_quantized(torch.nn.ModuleDict({"up": GemLiteLinear(4, 32, 64, 6)}), tmp_path / "other")
    with pytest.raises(ValueError, match="config.json is a file: pass the folder that holds it"):
        load_quantized(folder / "config.json")
    with pytest.raises(ValueError, match="the model is itself a GemLiteLinear: save its state"):
        save_quantized(model.up, tmp_path / "other")
    model.up.to("meta")
    with pytest.raises(ValueError, match="the model's up.W_q has no numbers: it is on meta"):
        save_quantized(model, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_texts_are_asked_for_once_for_the_whole_model(tmp_path):
    model = Model().half().requires_grad_(False)
    quantize_(model, replace(g.NF4, texts=TEXTS), skip=("down", "lm_head"))
    other = {"dequant_pair": TEXTS["dequant_pair"] + "\n", "prepare_pairs": TEXTS["prepare_pairs"]}
    quantize_(model, replace(g.NF4, texts=other))
    save_quantized(model, tmp_path / "model")
    fresh = on_meta()
    with pytest.raises(UntrustedText, match="CUDA text for dequant_pair and prepare_pairs") as info:
        load_quantized(tmp_path / "model", fresh, trusted_texts=TEXTS)
    assert info.value.texts == [other] and type(fresh.up) is torch.nn.Linear
    load_quantized(tmp_path / "model", fresh, trusted_texts=[TEXTS, *info.value.texts])
    assert fresh.down.format.holes == other and torch.equal(fresh.up.W_q, model.up.W_q)
    with pytest.raises(TypeError, match="trusted_texts must be a dict .*, or a list of such dicts"):
        load_quantized(tmp_path / "model", on_meta(), trusted_texts=["text"])
    with pytest.raises(TypeError, match="trusted_texts must be a dict .* or a list .*, got int"):
        load_quantized(tmp_path / "model", on_meta(), trusted_texts=3)


def test_shards_are_those_of_the_index(tmp_path):
    tensors = {f"t{i}": torch.full((100,), float(i)) for i in range(5)}
    write_shards(tensors.items(), tmp_path, shard_bytes=900)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)),
        "model.safetensors.index.json",
    ]
    shards = Shards(tmp_path)
    assert all(torch.equal(shards.read(name), tensor) for name, tensor in tensors.items())
    second = tmp_path / "model-00002-of-00003.safetensors"
    content = load_file(second)
    content.pop("t3")
    save_file(content, second)
    with pytest.raises(ValueError, match="00002-of-00003.safetensors has no tensor t3, but the in"):
        Shards(tmp_path)
    second.unlink()
    with pytest.raises(ValueError, match="the shard .*00002.* is missing: copy it, too"):
        Shards(tmp_path)
    (tmp_path / "model.safetensors.index.json").unlink()
    with pytest.raises(ValueError, match="has 2 shards but no model.safetensors.index.json"):
        Shards(tmp_path)


def test_forms_are_read_where_new_tensors_are_on_meta(folder):
    """As transformers does while it builds a model."""
    with torch.device("meta"):
        forms = saved_forms(Shards(folder))
    assert forms["down"][1] == g.NF4


def test_a_packed_state_is_refused_by_dense_layers(model):
    """Its `weight` has a shape that no layer takes, also where unexpected names are ignored."""
    with pytest.raises(
        RuntimeError, match=r"size mismatch for up.weight.*\n?.*torch.Size\(\[68\]\)"
    ):
        Model().load_state_dict(model.state_dict(), strict=False)
    assert isinstance(model.up, GemLiteLinear)
