"""Text from a model, token by token, in passes that a kernel for few rows takes."""

import torch

from gemlite_lab.lesson.llama import Cache

ROWS = 8  # the rows of x that one call of the GEMV kernels takes


@torch.no_grad()
def generate(model, tokens, count, temperature=0.0, seeds=None, rows=ROWS):
    """tokens (B, T), int64, and `count` more after them: (B, T + count).

    The prompt goes through the model in passes of `rows` tokens, and each new token in a pass of
    its own, with a KV cache: so with one text, no linear layer ever gets more than `rows` rows.
    temperature: 0 takes the likeliest token. seeds: one int for each text, which alone decides its
    samples; None: 0, 1, ...
    """
    cache = Cache(model.config)
    generators = [torch.Generator().manual_seed(s) for s in seeds or range(len(tokens))]
    for some in tokens.split(rows, dim=1):
        logits = model(some, cache)[:, -1]
    for i in range(count):
        new = _chosen(logits.float(), temperature, generators)
        tokens = torch.cat([tokens, new], dim=1)
        if i < count - 1:
            logits = model(new, cache)[:, -1]
    return tokens


def _chosen(logits, temperature, generators):
    if not temperature:
        return logits.argmax(-1, keepdim=True)
    chances = (logits / temperature).softmax(-1).cpu()
    drawn = [torch.multinomial(p, 1, generator=g) for p, g in zip(chances, generators, strict=True)]
    return torch.stack(drawn).to(logits.device)


def output_rows(model):
    """How many rows all linear layers compute for one token: a simulated kernel's cost."""
    return sum(m.out_features for m in model.modules() if hasattr(m, "out_features"))
