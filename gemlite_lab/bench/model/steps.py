"""The steps that are measured: one decoded token for each text, or a prefill of one text.

A step is compiled in three parts: what comes before the layers, one layer, which all layers share,
and what comes after them. So 32 layers take no longer to compile than one.
"""

from typing import NamedTuple

import torch

from gemlite_lab.bench.model.cache import copy_cache, forget_cache, use_cache
from gemlite_lab.bench.model.weights import made_tokens

PROMPT, LENGTH = 128, 256  # tokens of a text before the first decoded one, and room for all
CHECKED = 32  # decoded tokens that are compared


class _Parts(NamedTuple):
    before: object
    layer: object
    after: object


class Steps:
    """Runs tokens through a model that keeps `length` keys and values of each of `batch` texts."""

    def __init__(self, built, batch, length):
        self._model = built.model
        use_cache(built.model, batch, length, built.dtype, built.device)
        self._slots = torch.arange(length, device=built.device)
        self._as_is = _Parts(self._before, _layer, self._after)
        self._compiled = _Parts(
            *(torch.compile(part, fullgraph=True, dynamic=False) for part in self._as_is)
        )

    def run(self, tokens, positions, last=1, is_compiled=False):
        """(logits (B, last, vocab), the best tokens (B, last)) after the last of tokens (B, T).

        positions: (T,). Several tokens are a prompt, from position 0 on; a single one attends to
        all before it.
        """
        run = self._compiled if is_compiled else self._as_is
        x, turn, mask = run.before(tokens, positions)
        for layer in self._model.model.layers:
            x = run.layer(layer, x, turn, mask, positions)
        return run.after(x[:, -last:])

    def copy_cache_of(self, other):
        """Copy the keys and values of another model of the same shape, for as many texts."""
        copy_cache(other._model, self._model)

    def _before(self, tokens, positions):
        x = self._model.model.embed_tokens(tokens)
        turn = self._model.model.rotary_emb(x, positions[None])
        # Without a mask, attention is causal.
        mask = (self._slots <= positions)[None, None, None] if tokens.shape[1] == 1 else None
        return x, turn, mask

    def _after(self, x):
        logits = self._model.lm_head(self._model.model.norm(x))
        return logits, logits.argmax(-1)


def _layer(layer, x, turn, mask, positions):
    return layer(x, attention_mask=mask, position_ids=positions[None], position_embeddings=turn)


class Decode:
    """Greedy decoding of `batch` texts: each call of `step` writes the next token of every text.

    tokens: (B, 257): the prompt of 128 tokens and what was decoded so far.
    rows, head_rows: how many rows of x the linear layers, and the head, multiply in a step.
    """

    def __init__(self, built, batch):
        self.rows = self.head_rows = batch
        self._steps, device = Steps(built, batch, LENGTH), built.device
        drawn = made_tokens(batch, PROMPT, built.model.config.vocab_size, device)
        self.tokens = torch.nn.functional.pad(drawn, (0, LENGTH + 1 - PROMPT))
        self._position = torch.zeros(1, dtype=torch.int64, device=device)
        self.reset()

    def read_prompt(self, reference):
        """Take the prompt's keys and values from dense weights.

        So the contender's kernels, which may tune themselves for minutes for each number of rows,
        meet the rows of the step alone.
        """
        by = Steps(reference, len(self.tokens), LENGTH)
        by.run(self.tokens[:, : PROMPT - 1], torch.arange(PROMPT - 1, device=self.tokens.device))
        self._steps.copy_cache_of(by)
        forget_cache(reference.model)

    def reset(self):
        """Go back to the first token after the prompt."""
        self._position.fill_(PROMPT - 1)

    def run(self, clock):
        """Decode 32 tokens by the clock's graph: (texts, tokens chosen) for `check_tokens`."""
        self.reset()
        self.tokens[:, PROMPT:] = 0
        end = PROMPT + CHECKED
        while int(self._position) < end - 1:
            clock.replay()
        return self.tokens[:, : end - 1], self.tokens[:, PROMPT:end]

    def step(self, is_compiled=True):
        """Decode one token of each text and return it, (B, 1)."""
        token = self.tokens.index_select(1, self._position)
        _, best = self._steps.run(token, self._position, is_compiled=is_compiled)
        self._position += 1
        self.tokens.index_copy_(1, self._position, best)
        return best


class Prefill:
    """The prefill of one text of `count` tokens, up to the choice of the next one."""

    head_rows = 1

    def __init__(self, built, count):
        self.rows = count
        self._steps = Steps(built, 1, count)
        self.tokens = made_tokens(1, count, built.model.config.vocab_size, built.device)
        self._positions = torch.arange(count, device=built.device)

    def read_prompt(self, reference):
        """Nothing to do: a prefill reads no other token's keys and values."""

    def reset(self):
        """Nothing to do: every step writes the same keys and values."""

    def run(self, clock):
        """Run the clock's graph once: (text, token chosen) for `check_tokens`."""
        clock.outputs[0].fill_(0)
        clock.replay()
        return self.tokens, clock.outputs[0]

    def step(self, is_compiled=True):
        """The next token, (1, 1)."""
        return self._steps.run(self.tokens, self._positions, is_compiled=is_compiled)[1]
