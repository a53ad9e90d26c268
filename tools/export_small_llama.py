"""Make the model of the lessons from what tools/train_small_llama.py wrote.

    python tools/export_small_llama.py build/small_llama/trained [another run's folder ...]

Of several runs it takes the one with the best validation. It writes the files that transformers'
LlamaForCausalLM loads, and training.json: the text, the arguments of all runs, and the curve of the
one taken.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file

from gemlite_lab.lesson.llama import Config
from gemlite_lab.lesson.small_llama import FOLDER, PARTS

ROOT = Path(__file__).parent.parent
TEXT = ROOT / "build" / "small_llama" / "text.json"
FIXED = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "dtype": "float16",
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": True,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
TOKENIZER = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": "<|end|>",
    "eos_token": "<|end|>",
    "clean_up_tokenization_spaces": False,
}


def best_of(run):
    """The row of a run's curve with the best validation."""
    return min(run["curve"], key=lambda row: row["validation_bits_per_byte"])


def split(ours, config):
    """The state of transformers' Llama, float16, from that of our `Llama` with a shared head."""
    heads = config.num_attention_heads, *[config.num_key_value_heads] * 2
    sizes = {"attention.qkv": [count * config.head_size for count in heads]}
    sizes["mlp.gate_up"] = [config.intermediate_size] * 2
    state = {"model.embed_tokens.weight": ours["embedding.weight"]}
    state["model.norm.weight"] = ours["norm.weight"]
    for i in range(config.num_hidden_layers):
        for name, parts in PARTS.items():
            tensor = ours[f"layers.{i}.{name}.weight"]
            pieces = tensor.split(sizes.get(name, len(tensor)))
            for part, piece in zip(parts, pieces, strict=True):
                state[f"model.layers.{i}.{part}.weight"] = piece
    return {name: tensor.half().contiguous() for name, tensor in state.items()}


def write_json(name, content):
    (FOLDER / name).write_text(json.dumps(content, indent=1) + "\n")


def main(folders):
    runs = {
        Path(folder): json.loads((Path(folder) / "curve.json").read_text()) for folder in folders
    }
    folder = min(runs, key=lambda folder: best_of(runs[folder])["validation_bits_per_byte"])
    config = Config(**runs[folder]["config"])
    state = split(torch.load(folder / "weights.pt", weights_only=True), config)
    save_file(state, FOLDER / "model.safetensors", metadata={"format": "pt"})
    write_json("config.json", {**FIXED, **asdict(config)})
    write_json(
        "tokenizer_config.json", {**TOKENIZER, "model_max_length": config.max_position_embeddings}
    )
    tried = [{"arguments": run["arguments"], "best": best_of(run)} for run in runs.values()]
    record = {"text": json.loads(TEXT.read_text()), **runs[folder], "best": best_of(runs[folder])}
    write_json("training.json", {**record, "runs": tried})
    print(f"{folder}: {record['best']}")


if __name__ == "__main__":
    main(sys.argv[1:])
