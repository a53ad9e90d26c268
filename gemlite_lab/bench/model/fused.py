"""transformers' Llama with fewer, larger projections: q, k and v in one, gate and up in one.

Every contender gets the same fusion, because each product costs time before it starts.
"""

import torch
from torch import nn
from transformers import LlamaForCausalLM
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb


class FusedAttention(nn.Module):
    """`LlamaAttention` with one projection for q, k and v.

    keys, values: room for those of all tokens, (B, kv heads, length, head size), by `use_cache`.
    """

    is_causal = True

    def __init__(self, config):
        super().__init__()
        self.heads = (config.num_attention_heads, *[config.num_key_value_heads] * 2)
        self.head_dim = config.head_dim
        self.num_key_value_groups = config.num_attention_heads // config.num_key_value_heads
        self.scaling = self.head_dim**-0.5
        self.attend = ALL_ATTENTION_FUNCTIONS[config._attn_implementation]
        self.qkv_proj = self.o_proj = self.keys = self.values = None

    def forward(
        self, hidden_states, position_embeddings, attention_mask=None, position_ids=None, **_
    ):
        heads = self.qkv_proj(hidden_states).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
        q, k, v = heads.split(self.heads, dim=1)
        q, k = apply_rotary_pos_emb(q, k, *position_embeddings)
        keys = self.keys.index_copy_(2, position_ids[0], k)
        values = self.values.index_copy_(2, position_ids[0], v)
        if q.shape[2] == 1:
            mixed = self._of_one_token(q, keys, values, attention_mask)
        else:
            mixed, _ = self.attend(self, q, keys, values, attention_mask, scaling=self.scaling)
        return self.o_proj(mixed.flatten(2)), None

    def _of_one_token(self, q, keys, values, mask):
        """What one token of each text attends to, (B, 1, heads x head size).

        The heads that share keys are the rows of one product. transformers' SDPA, given a mask,
        copies the keys for each head.
        """
        q = q.unflatten(1, (-1, self.num_key_value_groups)).squeeze(3)
        scores = (q @ keys.transpose(2, 3) * self.scaling).masked_fill(~mask, float("-inf"))
        weights = scores.float().softmax(-1).to(values.dtype)
        return (weights @ values).flatten(1)[:, None]


class FusedMLP(nn.Module):
    """`LlamaMLP` with one projection for gate and up."""

    def __init__(self, act_fn):
        super().__init__()
        self.act_fn = act_fn
        self.gate_up_proj = self.down_proj = None

    def forward(self, x):
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        return self.down_proj(self.act_fn(gate) * up)


def fused_llama(config):
    """A `LlamaForCausalLM` on meta whose linear layers but the head are still to be put in."""
    with torch.device("meta"):
        model = LlamaForCausalLM(config).eval().requires_grad_(False)
    for layer in model.model.layers:
        layer.self_attn, layer.mlp = FusedAttention(config), FusedMLP(layer.mlp.act_fn)
    return model
