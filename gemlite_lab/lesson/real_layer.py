"""Linear layers of a real model, with activations that they received in it."""

from pathlib import Path
from typing import NamedTuple

import torch

LAYERS = ("attention_query", "ffn_up", "ffn_down")
_FILE = Path(__file__).parent.parent / "data" / "minilm_layer3.safetensors"


class Layer(NamedTuple):
    """weight (N, K), bias (N), activations (M, K), all float16."""

    weight: torch.Tensor
    bias: torch.Tensor
    activations: torch.Tensor


def real_layer(name="ffn_up"):
    """A linear layer of all-MiniLM-L6-v2, encoder layer 3: "attention_query", "ffn_up", "ffn_down".

    >>> real_layer("ffn_up").weight.shape
    torch.Size([1536, 384])
    """
    if name not in LAYERS:
        raise ValueError(f"there is no layer {name!r}; there are {', '.join(LAYERS)}")
    from safetensors import safe_open

    with safe_open(_FILE, framework="pt") as file:
        return Layer(*(file.get_tensor(f"{name}.{part}") for part in Layer._fields))


def real_block():
    """The feed-forward block of the same layer in float64: ffn_up, GELU, ffn_down, no gradients.

    >>> real_block()(real_layer("ffn_up").activations.double()).shape
    torch.Size([141, 384])
    """
    up, down = torch.nn.Linear(384, 1536), torch.nn.Linear(1536, 384)
    for linear, name in ((up, "ffn_up"), (down, "ffn_down")):
        layer = real_layer(name)
        linear.load_state_dict({"weight": layer.weight, "bias": layer.bias})
    return torch.nn.Sequential(up, torch.nn.GELU(), down).double().requires_grad_(False)
