"""`load_checkpoint`: folders written by the documented formats become models of GemLiteLinear."""

import json

import pytest
import torch
from checkpoint_writers import awq, gptq, layer
from safetensors.torch import load_file, save_file

from gemlite_edu import GemLiteLinear, load_checkpoint

N, K = 64, 192
NAMES = ("blocks.0.up", "blocks.1.up")


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(K, N)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(10, K)
        self.blocks = torch.nn.ModuleList([Block(), Block()])


def on_meta():
    with torch.device("meta"):
        return Model()


def parts_of(nbits, group_size=64):
    """[(codes, zeros, scales)] of both layers; zeros of at least 1, which GPTQ can store less 1."""
    return [layer(nbits, N, K, group_size, smallest_zero=1, seed=seed) for seed in (0, 1)]


def dense_tensors():
    tensors = {f"{name}.bias": torch.randn(N).half() for name in NAMES}
    return tensors | {"embed.weight": torch.randn(10, K).half()}


def written(folder, tensors, config, **own_configs):
    folder.mkdir()
    save_file({name: t.contiguous() for name, t in tensors.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    for name, content in own_configs.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def gptq_tensors(nbits, minus_one=True, **options):
    tensors = dense_tensors()
    for name, parts in zip(NAMES, parts_of(nbits, **options), strict=True):
        written_as = gptq(*parts, nbits, minus_one)
        for part, tensor in zip(("qweight", "qzeros", "scales"), written_as, strict=True):
            tensors[f"{name}.{part}"] = tensor
        groups = parts[1].shape[1]
        tensors[f"{name}.g_idx"] = (torch.arange(K) // (K // groups)).int()
    return tensors


def awq_tensors():
    tensors = dense_tensors()
    for name, parts in zip(NAMES, parts_of(4), strict=True):
        for part, tensor in zip(("qweight", "qzeros", "scales"), awq(*parts), strict=True):
            tensors[f"{name}.{part}"] = tensor
    return tensors


def words_of_hqq(codes, nbits, fields, word):
    """Rows of codes cut into `fields` parts, the first of them in the most significant field."""
    rows = -(-len(codes) // fields)
    filled = torch.zeros(rows * fields, codes.shape[1], dtype=torch.int64)
    filled[: len(codes)] = codes
    parts = filled.reshape(fields, rows, -1)
    return sum(part << nbits * (fields - 1 - i) for i, part in enumerate(parts)).to(word)


HQQ_WORDS = {8: ("8bit_u8", 1), 4: ("4bit_u8", 2), 2: ("2bit_u8", 4), 1: ("1bit_u8", 8)}
HQQ_WORDS[3] = "3bit_32", 10


def hqq_states(nbits, group_size=64):
    packing, fields = HQQ_WORDS[nbits]
    states = {}
    for name, (codes, zeros, scales) in zip(NAMES, parts_of(nbits, group_size), strict=True):
        word = torch.int32 if nbits == 3 else torch.uint8
        states[name] = {
            "W_q": words_of_hqq(codes.reshape(-1, group_size), nbits, fields, word),
            **{"scale": scales.reshape(-1, 1), "zero": zeros.reshape(-1, 1).half()},
            **{"nbits": nbits, "group_size": group_size, "axis": 1, "packing": packing},
            **{"shape": torch.Size([N, K]), "view_as_float": False, "compute_dtype": torch.half},
        }
    return states


def as_tensor(value):
    """As hqq's `encode_safetensor_type` does."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, str | torch.dtype):
        return torch.tensor(list(map(ord, str(value))), dtype=torch.uint8)
    return torch.tensor(value, dtype=torch.uint8 if isinstance(value, bool) else torch.int32)


def hqq_tensors(nbits):
    tensors = dense_tensors()
    for name, state in hqq_states(nbits).items():
        tensors |= {f"{name}.{part}": as_tensor(value) for part, value in state.items()}
    return tensors


def assert_loaded(folder, tensors, nbits, group_size=64):
    model = load_checkpoint(folder, on_meta())
    assert torch.equal(model.embed.weight, tensors["embed.weight"])
    for name, (codes, zeros, scales) in zip(NAMES, parts_of(nbits, group_size), strict=True):
        made, groups = model.get_submodule(name), zeros.shape[1]
        W = (codes.reshape(N, groups, -1) - zeros[..., None]) * scales.double()[..., None]
        y = made.forward_manual(torch.eye(K).half(), "DEQUANTIZE").double()
        expected = W.reshape(N, K).T + tensors[f"{name}.bias"].double()
        assert torch.allclose(y, expected, rtol=2e-3, atol=1e-3)
        assert torch.equal(made.bias, tensors[f"{name}.bias"]) and made.W_nbits == nbits


@pytest.mark.parametrize("format", ["gptq", "gptq_v2", None])
@pytest.mark.parametrize("nbits", [2, 3, 4, 8])
def test_a_gptq_folder(tmp_path, nbits, format):
    tensors = gptq_tensors(nbits, minus_one=format != "gptq_v2")
    settings = {"bits": nbits, "group_size": 64, "desc_act": False, "quant_method": "gptq"}
    settings |= {} if format is None else {"checkpoint_format": format}
    folder = written(tmp_path / "model", tensors, {"quantization_config": settings})
    assert_loaded(folder, tensors, nbits)


def test_an_old_gptq_folder_has_a_config_of_its_own_and_one_group(tmp_path):
    tensors = gptq_tensors(4, group_size=K)
    settings = {"bits": 4, "group_size": -1, "desc_act": False, "sym": True}
    folder = written(tmp_path / "model", tensors, {}, quantize_config=settings)
    (folder / "model.safetensors").rename(folder / "gptq_model-4bit--1g.safetensors")
    assert_loaded(folder, tensors, 4, group_size=K)


def test_awq_folders_old_and_new(tmp_path):
    tensors = awq_tensors()
    new = {"bits": 4, "group_size": 64, "version": "gemm", "quant_method": "awq"}
    old = {"w_bit": 4, "q_group_size": 64, "version": "GEMM", "zero_point": True}
    assert_loaded(written(tmp_path / "n", tensors, {"quantization_config": new}), tensors, 4)
    assert_loaded(written(tmp_path / "o", tensors, {}, quant_config=old), tensors, 4)


@pytest.mark.parametrize("nbits", HQQ_WORDS)
def test_hqq_folders_of_safetensors_and_of_a_pickle(tmp_path, nbits):
    tensors = hqq_tensors(nbits)
    assert_loaded(written(tmp_path / "safe", tensors, {}), tensors, nbits)
    folder = tmp_path / "pickle"
    folder.mkdir()
    states = hqq_states(nbits)
    for name in NAMES:
        states[name]["bias"] = tensors[f"{name}.bias"]
    torch.save(states | {"embed": {"weight": tensors["embed.weight"]}}, folder / "qmodel.pt")
    (folder / "config.json").write_text("{}")
    assert_loaded(folder, tensors, nbits)


def test_a_bias_of_zeros_where_the_model_has_none_is_left_out(tmp_path):
    tensors = gptq_tensors(4)
    tensors["blocks.0.up.bias"].zero_()
    settings = {"bits": 4, "group_size": 64, "quant_method": "gptq"}
    folder = written(tmp_path / "model", tensors, {"quantization_config": settings})
    model = on_meta()
    model.blocks[0].up.bias = None
    assert load_checkpoint(folder, model).blocks[0].up.bias is None
    model = on_meta()
    model.blocks[1].up.bias = None
    with pytest.raises(ValueError, match="blocks.1.up has no bias in the model") as info:
        load_checkpoint(folder, model)
    assert type(model.blocks[0].up) is torch.nn.Linear and "/tmp/tmp" not in str(info.value)


def test_the_dtype_of_the_config_is_that_of_x(tmp_path):
    settings = {"bits": 4, "group_size": 64, "quant_method": "gptq"}
    config = {"quantization_config": settings, "torch_dtype": "bfloat16"}
    model = load_checkpoint(written(tmp_path / "model", gptq_tensors(4), config), on_meta())
    assert model.blocks[0].up(torch.ones(1, K).bfloat16()).dtype == torch.bfloat16


GPTQ = {"bits": 4, "group_size": 64, "quant_method": "gptq"}
LIES = {
    "bits": (GPTQ | {"bits": 8}, "blocks.0.up: the config says 8 bits, and qweight is of 4"),
    "a text as bits": (GPTQ | {"bits": "4"}, "bits in the config of .* must be an int, got '4'"),
    "no bits": (GPTQ | {"bits": None}, "bits in the config of .* must be an int, got None"),
    "a text as groups": (GPTQ | {"group_size": "64"}, "group_size in .* must be an int, got '64'"),
    "groups": (GPTQ | {"group_size": 128}, "config says group_size 128, and the scales are of 64"),
    "marlin": (GPTQ | {"checkpoint_format": "marlin"}, "stores gptq layers as 'marlin', and this"),
    "exl3": (GPTQ | {"quant_method": "exl3"}, "has the quant_method 'exl3': load_checkpoint reads"),
    "ours": ({"quant_method": "gemlite_edu", "version": 1}, "and load_quantized the folders of"),
    "a text": ("gptq", "the quantization_config of .* is no JSON object: 'gptq'"),
    "gemv": (GPTQ | {"quant_method": "awq", "version": "gemv"}, "awq layers as 'gemv', and this"),
}


@pytest.mark.parametrize(("settings", "sentence"), LIES.values(), ids=LIES)
def test_a_config_that_lies_is_refused(tmp_path, settings, sentence):
    folder = written(tmp_path / "m", gptq_tensors(4), {"quantization_config": settings})
    refuses(folder, sentence)


def refuses(folder, sentence):
    model = Model()
    with pytest.raises(ValueError, match=sentence) as info:
        load_checkpoint(folder, model)
    assert "\n" not in str(info.value)
    assert not any(isinstance(module, GemLiteLinear) for module in model.modules())


def test_desc_act_needs_g_idx_and_takes_it_in_order(tmp_path):
    tensors, config = gptq_tensors(4), {"quantization_config": GPTQ | {"desc_act": True}}
    assert_loaded(written(tmp_path / "ordered", tensors, config), tensors, 4)
    del tensors["blocks.1.up.g_idx"]
    refuses(written(tmp_path / "m", tensors, config), "blocks.1.up: .* desc_act, and .* no g_idx")


def shuffled(tensors):
    tensors["blocks.1.up.g_idx"] = tensors["blocks.1.up.g_idx"].flip(0)


CHANGES = {
    "act order": (shuffled, "blocks.1.up: g_idx is not k // 64 .*quantize with desc_act=False"),
    "no zeros": (lambda t: t.pop("blocks.1.up.qzeros"), "blocks.1.up.qweight but no blocks.1.up.q"),
    "no layer": (lambda t: t.update(one=torch.ones(1)), "has, and the model does not take, 1 te"),
    "no embedding": (lambda t: t.pop("embed.weight"), "the model needs, and .* does not have, 1"),
    "dense": (lambda t: [t.pop(n) for n in list(t) if "up" in n], "has no packed layer: is it a q"),
}


@pytest.mark.parametrize(("change", "sentence"), CHANGES.values(), ids=CHANGES)
def test_a_folder_that_does_not_fit_is_refused(tmp_path, change, sentence):
    tensors = gptq_tensors(4)
    change(tensors)
    refuses(written(tmp_path / "model", tensors, {"quantization_config": GPTQ}), sentence)


def test_hqq_layers_that_cannot_be_read_are_refused(tmp_path):
    tensors = hqq_tensors(4)
    tensors["blocks.0.up.axis"] = as_tensor(0)
    refuses(written(tmp_path / "axis", tensors, {}), "blocks.0.up: the HQQ layer has axis = 0")
    tensors = hqq_tensors(4)
    tensors["blocks.0.up.packing"] = as_tensor("4bit_u32")
    refuses(written(tmp_path / "packing", tensors, {}), "packing must be one of .*, got '4bit_u32'")
    tensors = hqq_tensors(4)
    del tensors["blocks.0.up.W_q"]
    refuses(written(tmp_path / "codes", tensors, {}), "blocks.0.up: the HQQ layer has no W_q")
    folder = written(tmp_path / "cut", tensors, {})
    (folder / "qmodel.pt").write_bytes(b"no pickle")
    refuses(folder, "qmodel.pt is damaged, or not of hqq: ")


def test_shards_that_are_missing_are_named(tmp_path):
    folder = written(tmp_path / "model", gptq_tensors(4), {"quantization_config": GPTQ})
    names = load_file(folder / "model.safetensors")
    index = {"weight_map": {name: "model-00001-of-00001.safetensors" for name in names}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refuses(folder, "the shard .*model-00001-of-00001.safetensors is missing")
