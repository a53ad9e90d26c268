"""With transformers: save_pretrained and from_pretrained give the same logits, or raise.

transformers is optional in the package; `make test` installs it for these tests.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gemlite_edu import (
    INT4,
    NF4,
    UntrustedText,
    load_checkpoint,
    load_quantized,
    pair_table,
    quantize_,
    quantize_linear,
    save_quantized,
)

ROOT = Path(__file__).parent.parent.parent

SAVE = """
import sys, torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from gemlite_edu import NF4, quantize_, save_quantized
for tied in (False, True):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, tie_word_embeddings=tied,
    )
    LlamaForCausalLM(config).bfloat16().save_pretrained(f"dense {tied}")
    model = AutoModelForCausalLM.from_pretrained(f"dense {tied}")
    quantize_(model, NF4, group_size=16)
    model.save_pretrained(f"own {tied}")
    save_quantized(model, f"ours {tied}")
    with torch.inference_mode():
        torch.save(model(torch.arange(9)[None]).logits, f"logits {tied}.pt")
"""

LOAD = """
import torch
for folder in ("own", "ours"):
    for tied in (False, True):
        model = AutoModelForCausalLM.from_pretrained(f"{folder} {tied}")
        with torch.inference_mode():
            logits = model(torch.arange(9)[None]).logits
        assert torch.equal(logits, torch.load(f"logits {tied}.pt")), (folder, tied)
        assert type(model.model.layers[0].mlp.up_proj).__name__ == "GemLiteLinear"
"""

OURS_FIRST = """
import sys, gemlite_edu
assert not {"torch", "transformers"} & set(sys.modules)
from transformers import AutoModelForCausalLM
"""
NEVER = """
from transformers import AutoModelForCausalLM
for folder in ("own", "ours"):
    try:
        AutoModelForCausalLM.from_pretrained(f"{folder} True")
    except RuntimeError as error:
        print("refused:", error)
"""
LATER = "import gemlite_edu\n"


def run(code, folder):
    """What a fresh process prints, in `folder`, without a network."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-W", "error::UserWarning", "-c", code]
    made = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    run(SAVE, folder)
    return folder


def test_a_process_that_imports_this_package_first_loads_the_same_logits(saved):
    run(OURS_FIRST + LOAD, saved)


def test_a_process_refuses_the_folder_until_it_imports_this_package(saved):
    assert run(NEVER + LATER + LOAD, saved).count("refused: ") == 2


def copy_without(saved, tmp_path, names):
    from safetensors.torch import load_file, save_file

    shutil.copytree(saved / "own False", tmp_path / "copy")
    path = tmp_path / "copy" / "model.safetensors"
    tensors = load_file(path)
    kept = {name: tensors[name] for name in tensors if not re.fullmatch("|".join(names), name)}
    assert (len(kept) < len(tensors)) == bool(names)
    save_file(kept, path, metadata={"format": "pt"})
    return tmp_path / "copy"


UP = "model.layers.0.mlp.up_proj"
ALL_NORMS, ALL_EMBEDDINGS = r".*norm\.weight", r".*(embed_tokens|lm_head)\.weight"
LACKING = {
    "all that is dense": ([ALL_NORMS, ALL_EMBEDDINGS], "needs, and the files lack, [0-9]+ tensors"),
    "a norm": (["model.norm.weight"], "the LlamaForCausalLM needs, and the files lack, 1 tensor: "),
    "scales": ([f"{UP}.scales"], f"{UP}.metadata: the saved layer must have scales"),
    "metadata": ([f"{UP}.metadata"], f"has the packed layer {UP} without its metadata: save the"),
    "codes": ([f"{UP}.W_q"], f"has the packed layer {UP} without its W_q: save the model anew"),
}


@pytest.mark.parametrize(("names", "sentence"), LACKING.values(), ids=LACKING)
def test_a_file_that_lacks_tensors_is_refused(saved, tmp_path, names, sentence):
    from transformers import AutoModelForCausalLM

    folder = copy_without(saved, tmp_path, names)
    for load in (AutoModelForCausalLM.from_pretrained, load_quantized):
        with pytest.raises(ValueError, match=sentence):
            load(folder)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        (
            "num_hidden_layers",
            1,
            "have, and the LlamaForCausalLM of the config does not take, 7 pac",
        ),
        ("vocab_size", 60, "has tensors of other sizes than its config says, which the report of"),
        ("intermediate_size", 64, r"_proj is .* in the files and .* by the config"),
        ("quantization_config", {"quant_method": "gemlite_edu", "version": 2}, "has version 2 of"),
        ("num_attention_heads", 3, "transformers refuses .*config.json: "),
        ("architectures", ["NoSuchModel"], "transformers .* has no NoSuchModel: load the folder"),
        ("architectures", None, "holds a model that is not of transformers"),
    ],
)
def test_a_config_that_lies_is_refused(saved, tmp_path, key, value, sentence):
    folder = copy_without(saved, tmp_path, [])
    config = json.loads((folder / "config.json").read_text()) | {key: value}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=sentence):
        load_quantized(folder)


def test_from_pretrained_refuses_layers_that_the_config_forgets(saved, tmp_path):
    from transformers import AutoModelForCausalLM

    folder = copy_without(saved, tmp_path, [])
    config = json.loads((folder / "config.json").read_text()) | {"num_hidden_layers": 1}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        ValueError, match="does not take, 7 packed layers, the first is model.layers.1.mlp.down"
    ):
        AutoModelForCausalLM.from_pretrained(folder)


def test_shards_without_their_index_are_refused(saved, tmp_path):
    folder = copy_without(saved, tmp_path, [])
    for part in (1, 2):
        shutil.copy(folder / "model.safetensors", folder / f"model-{part:05}-of-00002.safetensors")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="has 2 shards but no model.safetensors.index.json"):
        load_quantized(folder)


def test_from_pretrained_refuses_another_dtype_than_the_layers_take(saved):
    import torch
    from transformers import AutoModelForCausalLM

    with pytest.raises(ValueError, match="pass dtype=torch.bfloat16 to from_pretrained"):
        AutoModelForCausalLM.from_pretrained(saved / "own False", dtype=torch.float16)


def test_a_base_model_leaves_a_packed_head_out(saved, tmp_path):
    from transformers import AutoModel, AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(saved / "dense False")
    quantize_(model, NF4, skip=None)
    model.save_pretrained(tmp_path)
    base = AutoModel.from_pretrained(tmp_path)
    assert type(base.layers[0].mlp.up_proj).__name__ == "GemLiteLinear"


def test_load_quantized_and_the_base_model_are_the_same_model(saved):
    import torch
    from transformers import AutoModel, AutoModelForCausalLM

    with torch.inference_mode():
        tokens = torch.arange(9)[None]
        model = load_quantized(saved / "ours True")
        assert torch.equal(model(tokens).logits, torch.load(saved / "logits True.pt"))
        dense = AutoModelForCausalLM.from_pretrained(saved / "dense True")
        load_quantized(saved / "ours True", dense)
        assert torch.equal(dense(tokens).logits, model(tokens).logits)
        base = AutoModel.from_pretrained(saved / "ours True")
        expected = model.model(tokens).last_hidden_state
        assert torch.equal(base(tokens).last_hidden_state, expected)


SMALL = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4)
IMAGES = SMALL | dict(image_size=32, patch_size=8)
UNLIKE_LLAMA = {
    # It takes the weights of its layers where it draws numbers for tensors that are absent.
    "T5ForConditionalGeneration": dict(
        d_model=64, d_kv=16, d_ff=128, num_layers=1, num_heads=4, vocab_size=100
    ),
    "SiglipVisionModel": IMAGES,
    # Its files have older names than its modules.
    "ViTModel": IMAGES,
}


@pytest.mark.parametrize("name", UNLIKE_LLAMA)
def test_classes_that_draw_numbers_or_rename_layers_come_back(name, tmp_path):
    import transformers

    kind = getattr(transformers, name)
    model = kind(kind.config_class(**UNLIKE_LLAMA[name])).eval()
    quantize_(model, INT4, skip=("lm_head", "wo") if name.startswith("T5") else None)
    model.save_pretrained(tmp_path)
    for loaded in (kind.from_pretrained(tmp_path), load_quantized(tmp_path)):
        state = loaded.state_dict()
        assert all(torch.equal(state[n], t) for n, t in model.state_dict().items())


def test_a_packed_layer_cannot_be_offloaded_and_others_can(saved, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM

    options = dict(
        offload_folder=tmp_path / "off", pretrained_model_name_or_path=saved / "own False"
    )
    device_map = {"model": "cpu", "lm_head": "disk"}
    model = AutoModelForCausalLM.from_pretrained(**options, device_map=device_map)
    with torch.inference_mode():
        logits = model(torch.arange(9)[None]).logits
    assert torch.equal(logits, torch.load(saved / "logits False.pt"))
    device_map = {"model": "disk", "lm_head": "cpu"}
    with pytest.raises(ValueError, match="_proj is offloaded, which packed layers do not support"):
        AutoModelForCausalLM.from_pretrained(**options, device_map=device_map)


def test_a_gptq_folder_of_a_model_of_transformers(saved, tmp_path):
    """The dense model's layers, quantized here and written by the documented format."""
    import torch
    from checkpoint_writers import gptq
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM

    dense = AutoModelForCausalLM.from_pretrained(saved / "dense False", dtype=torch.float16)
    tensors = dense.state_dict()
    for name, module in dense.named_modules():
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            q = quantize_linear(module.weight, 4, 16, symmetric=True)
            del tensors[f"{name}.weight"]
            written_as = gptq(q.W_q, q.zeros.int(), q.scales.half(), 4)
            for part, tensor in zip(("qweight", "qzeros", "scales"), written_as, strict=True):
                tensors[f"{name}.{part}"] = tensor.contiguous()
            module.weight.data = replace(q, scales=q.scales.half().float()).dequantize().half()
    config = json.loads((saved / "dense False" / "config.json").read_text())
    settings = {"quant_method": "gptq", "bits": 4, "group_size": 16, "desc_act": False}
    config |= {"quantization_config": settings, "dtype": "float16"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    model = load_checkpoint(tmp_path)
    with torch.inference_mode():
        expected = dense(torch.arange(3)[None]).logits
        logits = model(torch.arange(3)[None]).logits
    assert (logits - expected).norm() / expected.norm() < 0.01
    assert model.config._name_or_path == model.name_or_path == str(tmp_path)


def test_texts_must_be_trusted(saved, tmp_path):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(saved / "dense False")
    quantize_(model, replace(NF4, texts=pair_table(NF4)))
    save_quantized(model, tmp_path / "model")
    with pytest.raises(UntrustedText, match="use load_quantized") as info:
        AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    again = load_quantized(tmp_path / "model", trusted_texts=info.value.texts)
    assert again.model.layers[1].mlp.up_proj.format.holes == pair_table(NF4)
