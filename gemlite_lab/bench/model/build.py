"""Build a model of a shape with a contender's linear layers, layer by layer on the device.

Codes exist only while their layer is made, so a quantized model never takes the memory of a dense
one.
"""

from dataclasses import dataclass

import torch
from torch import nn

from gemlite_lab.bench.model.weights import made_embedding, made_weight


@dataclass(frozen=True)
class Built:
    """A `LlamaForCausalLM` with a contender's layers, and the bytes that they must read."""

    model: nn.Module
    dtype: torch.dtype
    weight_bytes: int

    @property
    def device(self):
        return self.model.model.embed_tokens.weight.device

    def linears(self, shape):
        """{name: layer} of the linear layers, in the order of a step."""
        return {name: self.model.get_submodule(name) for name in shape.linears()}


@torch.no_grad()
def build(shape, contender, device):
    """The `Built` model of `shape` with made weights, in the contender's dtype."""
    from gemlite_lab.bench.model.fused import fused_llama

    model = fused_llama(shape.config())
    nbytes = 0
    for name, (N, K) in shape.linears().items():
        made = contender.layer(made_weight(f"{shape.name} {name}", N, K, device))
        _put(model, name, made.call)
        nbytes += sum(tensor.nbytes for tensor in made.reads)
    _fill_the_rest(model, shape, contender, device)
    return Built(model.eval().requires_grad_(False), contender.dtype, nbytes)


def _put(model, name, layer):
    """Put a layer where there is None, or the head of the class."""
    parent, _, own = name.rpartition(".")
    setattr(model.get_submodule(parent), own, layer)


def _fill_the_rest(model, shape, contender, device):
    """Embedding, norms and rotation: no contender changes them."""
    inner, head = model.model, model.lm_head
    if shape.is_tied and contender.weights.nbits == 16:
        inner.embed_tokens.weight = head.weight
    else:
        embedding = _embedding(shape, device).to(contender.dtype)
        inner.embed_tokens.weight = nn.Parameter(embedding, requires_grad=False)
    for norm in [m for m in model.modules() if type(m) is type(inner.norm)]:
        ones = torch.ones(shape.hidden, dtype=contender.dtype, device=device)
        norm.weight = nn.Parameter(ones, requires_grad=False)
    with torch.device(device):
        inner.rotary_emb = type(inner.rotary_emb)(model.config)


def _embedding(shape, device):
    """fp16 numbers (vocab, hidden): those of the head if the two are tied."""
    if not shape.is_tied:
        return made_embedding(shape.vocab, shape.hidden, device)
    q = made_weight(f"{shape.name} lm_head", shape.vocab, shape.hidden, device)
    return q.dequantize(torch.float16)
