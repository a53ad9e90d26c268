"""The small Llama in data/small_llama: its weights, its tokenizer, and texts that it never saw."""

import json
import lzma
import math
from dataclasses import fields
from functools import cache
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from gemlite_edu.numbers.checks import is_int
from gemlite_lab.lesson.llama import Config, Llama

FOLDER = Path(__file__).parent.parent / "data" / "small_llama"
END = 0  # the token before and after every module
_MODULES_END = "if __name__ == '__main__':\n    unittest.main()\n"
# The layers of transformers' Llama whose outputs one layer of ours has, in this order.
PARTS = {
    "attention.qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.out": ("self_attn.o_proj",),
    "mlp.gate_up": ("mlp.gate_proj", "mlp.up_proj"),
    "mlp.down": ("mlp.down_proj",),
    "attention_norm": ("input_layernorm",),
    "mlp_norm": ("post_attention_layernorm",),
}


def small_llama(dtype=torch.float32):
    """The trained model on the CPU, in eval mode and without gradients, with weights of `dtype`.

    The head is a copy of the embedding, so that `quantize_(model, 4, skip=None)` quantizes it too.

    >>> small_llama().lm_head
    Linear(in_features=384, out_features=2048, bias=False)
    """
    from safetensors.torch import load_file

    stored = json.loads((FOLDER / "config.json").read_text())
    model = Llama(Config(**{field.name: stored[field.name] for field in fields(Config)}))
    model.load_state_dict(fused(load_file(FOLDER / "model.safetensors"), model.config))
    return model.to(dtype).eval().requires_grad_(False)


def fused(state, config):
    """The state of our `Llama` from the state of transformers', whose head is the embedding."""
    embedding = state["model.embed_tokens.weight"]
    ours = {"embedding.weight": embedding, "lm_head.weight": embedding.clone()}
    ours["norm.weight"] = state["model.norm.weight"]
    for i in range(config.num_hidden_layers):
        for name, parts in PARTS.items():
            tensors = [state[f"model.layers.{i}.{part}.weight"] for part in parts]
            ours[f"layers.{i}.{name}.weight"] = torch.cat(tensors)
    return ours


@cache
def tokenizer():
    """The byte-level BPE tokenizer, a `tokenizers.Tokenizer` with 2,048 entries."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(FOLDER / "tokenizer.json"))


def encode(text):
    """The tokens of a whole module, int64 (T): END, those of the text, END."""
    return torch.tensor([END, *tokenizer().encode(text).ids, END])


def prompt(text=""):
    """The tokens of a module that begins with `text`, for `generate`: int64 (1, T).

    The end of another module stands before it. The model was trained on windows that begin anywhere
    in a module, so it takes the first tokens that it sees for the middle of something.
    """
    return torch.cat([encode(_MODULES_END), encode(text)[1:-1]])[None]


def held_out():
    """{module: source text} of the modules that had no part in the training."""
    return _texts("held_out")


def calibration():
    """{module: source text} of the modules whose loss told when to stop the training.

    No weight was trained on them, so a quantizer may look at the activations that they cause.
    """
    return _texts("validation")


def _texts(part):
    with lzma.open(FOLDER / f"{part}.jsonl.xz", "rt", encoding="utf-8") as file:
        return {line["module"]: line["text"] for line in map(json.loads, file)}


@torch.no_grad()
def bits_per_byte(model, texts=None, stride=1024):
    """How many bits `model` needs for a byte of `texts`, ends of modules included.

    texts: {module: text}; None: `held_out()`. Each module starts anew after END. The model sees its
    whole context of 2,048 tokens, which moves on by `stride` tokens: so all but the first tokens of
    a module are predicted from at least 2,048 - stride others. Raises TypeError or ValueError for
    texts without a byte, or for a stride that is not an int from 1 to the context.
    """
    texts = held_out() if texts is None else texts
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise TypeError(f"texts must be a dict {{module: text}}, got {texts!r:.60}")
    if not any(texts.values()):
        raise ValueError("texts have no byte to predict: pass {module: text}")
    context = model.config.max_position_embeddings
    if not is_int(stride) or stride > context:
        raise ValueError(f"stride must be an int from 1 to {context}, got {stride!r:.60}")
    nats = sum(_nats(model, encode(text), stride) for text in texts.values())
    return nats / math.log(2) / sum(len(text.encode()) for text in texts.values())


def _nats(model, tokens, stride):
    total, context = 0.0, model.config.max_position_embeddings
    tokens = tokens.to(model.embedding.weight.device)
    for begin in range(0, len(tokens) - 1, stride):
        end = min(begin + stride, len(tokens) - 1)
        first = max(0, end - context)
        logits = model(tokens[None, first:end])[0, begin - first :]
        total += cross_entropy(logits.float(), tokens[begin + 1 : end + 1], reduction="sum").item()
    return total
