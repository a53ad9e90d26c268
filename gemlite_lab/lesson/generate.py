"""Text from a model, token by token, in passes that a kernel for few rows takes."""

import math

import torch

from gemlite_edu.numbers.checks import check_dense, check_size, is_int
from gemlite_lab.lesson.context import check_length
from gemlite_lab.lesson.llama import Cache

ROWS = 8  # the rows of x that one call of the GEMV kernels takes


@torch.no_grad()
def generate(model, tokens, count, temperature=0.0, seeds=None, rows=ROWS):
    """tokens (B, T), int64, and `count` more after them: (B, T + count).

    The prompt goes through the model in passes of `rows` tokens, and each new token in a pass of
    its own, with a KV cache: so with one text, no linear layer ever gets more than `rows` rows.
    temperature: 0 takes the likeliest token. seeds: one int for each text, which alone decides its
    samples; None: 0, 1, ...
    Raises TypeError or ValueError for other arguments, or for more tokens than the model takes.
    """
    _check(tokens, count, temperature, rows)
    generators = [torch.Generator().manual_seed(s) for s in _seeds(seeds, len(tokens))]
    check_length(tokens.shape[1] + max(0, count - 1), model.config)  # the last is not read
    cache = Cache(model.config)
    for some in tokens.split(rows, dim=1):
        logits = model(some, cache)[:, -1]
    for i in range(count):
        new = _chosen(logits.float(), temperature, generators)
        tokens = torch.cat([tokens, new], dim=1)
        if i < count - 1:
            logits = model(new, cache)[:, -1]
    return tokens


def _check(tokens, count, temperature, rows):
    """Raise TypeError or ValueError unless `generate` takes these arguments."""
    check_dense("tokens", tokens, [torch.int64])
    if tokens.dim() != 2 or not tokens.numel():
        raise ValueError(
            f"tokens must be (B, T) with at least one token, got {tuple(tokens.shape)}: "
            "prompt(text) makes them of a text"
        )
    if not is_int(count, smallest=0):
        raise ValueError(f"count must be an int of at least 0, got {count!r:.60}")
    if not isinstance(temperature, int | float) or not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be a number of at least 0, got {temperature!r:.60}")
    check_size("rows", rows)


def _seeds(seeds, count):
    """`seeds`, or 0, 1, ... for None; ValueError unless they are `count` ints."""
    if seeds is None:
        return range(count)
    is_list = isinstance(seeds, list | tuple | range) and all(is_int(s, smallest=0) for s in seeds)
    if not is_list or len(seeds) != count:
        raise ValueError(f"seeds must be a list of {count} ints from 0, got {seeds!r:.60}")
    return seeds


def _chosen(logits, temperature, generators):
    if not temperature:
        return logits.argmax(-1, keepdim=True)
    chances = (logits / temperature).softmax(-1).cpu()
    drawn = [torch.multinomial(p, 1, generator=g) for p, g in zip(chances, generators, strict=True)]
    return torch.stack(drawn).to(logits.device)


def output_rows(model):
    """How many rows all linear layers compute for one token: a simulated kernel's cost."""
    return sum(m.out_features for m in model.modules() if hasattr(m, "out_features"))
