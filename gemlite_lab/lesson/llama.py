"""A Llama to read, from token ids to logits.

Shapes: B texts, T new tokens, S tokens with those in the cache, H heads of queries, G heads of keys
and values, D numbers a head. transformers' q_proj, k_proj and v_proj are one layer `qkv` here, and
gate_proj and up_proj one layer `gate_up`: each call of a kernel costs time before it starts.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu

from gemlite_lab.lesson.context import check_length


@dataclass(frozen=True)
class Config:
    """The numbers of a Llama, with the names that transformers' config.json gives them."""

    vocab_size: int = 2048
    hidden_size: int = 384
    intermediate_size: int = 768
    num_hidden_layers: int = 3
    num_attention_heads: int = 6
    num_key_value_heads: int = 2
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0

    @property
    def head_size(self):
        return self.hidden_size // self.num_attention_heads


class Cache:
    """Keys and values of all tokens so far: per layer a tensor (2, B, G, S, D)."""

    def __init__(self, config):
        self.layers = [None] * config.num_hidden_layers

    def __len__(self):
        return 0 if self.layers[0] is None else self.layers[0].shape[-2]

    def append(self, layer, new):
        """Add the keys and values of new tokens, (2, B, G, T, D); return those of all tokens."""
        old = self.layers[layer]
        self.layers[layer] = new if old is None else torch.cat([old, new], dim=-2)
        return self.layers[layer]


class RMSNorm(nn.Module):
    """Divide each token's vector by its root mean square, then multiply by a weight per entry."""

    def __init__(self, size, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + self.eps)
        return self.weight * (x.float() * scale).to(x.dtype)


def rotation(start, count, config, device):
    """cos and sin (count, D / 2) of the angles by which positions start, start + 1 ... turn."""
    pair = torch.arange(0, config.head_size, 2, device=device) / config.head_size
    position = torch.arange(start, start + count, device=device)
    angle = position[:, None] * config.rope_theta**-pair
    return angle.cos(), angle.sin()


def rotate(x, turn):
    """Turn each pair (x[d], x[d + D / 2]) of x (B, H, T, D) by its token's angle."""
    cos, sin = (part.to(x.dtype) for part in turn)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Attention(nn.Module):
    """Each token mixes the values of the tokens up to it; H / G heads of queries share a key."""

    def __init__(self, config, layer):
        super().__init__()
        self.layer, self.head_size = layer, config.head_size
        self.heads = config.num_attention_heads, *[config.num_key_value_heads] * 2
        self.qkv = nn.Linear(config.hidden_size, sum(self.heads) * config.head_size, bias=False)
        self.out = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, x, turn, cache=None):
        heads = self.qkv(x).unflatten(-1, (-1, self.head_size)).transpose(1, 2)
        q, k, v = heads.split(self.heads, dim=1)
        q, k, causal = rotate(q, turn), rotate(k, turn), {"is_causal": True}
        if cache is not None:
            k, v = cache.append(self.layer, torch.stack([k, v]))
            T, S = q.shape[2], k.shape[2]
            causal = {"attn_mask": torch.ones(T, S, dtype=torch.bool, device=x.device).tril(S - T)}
        mixed = scaled_dot_product_attention(q, k, v, enable_gqa=True, **causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """Widen, let one half of the numbers gate the other, narrow again."""

    def __init__(self, config):
        super().__init__()
        self.gate_up = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(silu(gate) * up)


class Layer(nn.Module):
    """Attention, then the MLP, each added to what came in."""

    def __init__(self, config, layer):
        super().__init__()
        self.attention, self.mlp = Attention(config, layer), SwiGLU(config)
        self.attention_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp_norm = RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, x, turn, cache=None):
        x = x + self.attention(self.attention_norm(x), turn, cache)
        return x + self.mlp(self.mlp_norm(x))


class Llama(nn.Module):
    """Embedding, layers, norm and head of a `Config`, with random weights until some are loaded."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config, i) for i in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, tokens, cache=None):
        """Logits (B, T, vocab_size) for the token after each of tokens (B, T), int64.

        cache: a `Cache` of the tokens before these, which takes these in too. Raises ValueError
        if there are more than max_position_embeddings in all.
        """
        count, start = tokens.shape[1], len(cache or ())
        check_length(start + count, self.config)
        x, turn = self.embedding(tokens), rotation(start, count, self.config, tokens.device)
        for layer in self.layers:
            x = layer(x, turn, cache)
        return self.lm_head(self.norm(x))
