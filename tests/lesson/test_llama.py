"""The readable Llama with random weights: its cache, its passes, and its layers quantized."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gemlite_edu import quantize_
from gemlite_lab.lesson import llama
from gemlite_lab.lesson.generate import generate, output_rows
from gemlite_lab.lesson.llama import Cache, Config, Llama, rotate, rotation

TINY = Config(
    vocab_size=64,
    hidden_size=128,
    intermediate_size=256,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=32,
)


@pytest.fixture(scope="module")
def tiny():
    torch.manual_seed(0)
    model = Llama(TINY).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.normal_(std=0.2)
    return model


def tokens(count, texts=1):
    return torch.randint(64, (texts, count), generator=torch.Generator().manual_seed(count))


@pytest.mark.parametrize("rows", [1, 3, 8, 20])
def test_passes_with_a_cache_give_the_logits_of_one_pass(tiny, rows):
    text, cache = tokens(20, texts=2), Cache(TINY)
    passes = torch.cat([tiny(some, cache) for some in text.split(rows, dim=1)], dim=1)
    assert len(cache) == 20
    torch.testing.assert_close(passes, tiny(text), atol=1e-4, rtol=1e-4)


def test_a_token_changes_no_logits_before_it(tiny):
    text = tokens(12)
    other = text.clone()
    other[0, 7] = (other[0, 7] + 1) % 64
    changed = (tiny(text) != tiny(other)).any(-1)[0]
    assert not changed[:7].any() and changed[7:].all()


def test_products_of_rotated_vectors_depend_on_the_distance_alone():
    q, k = torch.randn(2, 1, 1, 1, TINY.head_size).double()

    def product(i, j):
        turned = [rotate(x, rotation(at, 1, TINY, None)) for x, at in ((q, i), (k, j))]
        return (turned[0] * turned[1]).sum()

    torch.testing.assert_close(product(3, 5), product(13, 15), atol=1e-5, rtol=1e-5)
    assert not torch.isclose(product(3, 5), product(3, 6))


def test_too_many_tokens_are_refused_in_one_sentence(tiny):
    cache = Cache(TINY)
    tiny(tokens(30), cache)
    with pytest.raises(ValueError, match="33 tokens are more than the model takes"):
        tiny(tokens(3), cache)


def test_generate_gives_no_layer_more_than_its_rows(tiny):
    seen, hooks = [], []
    for module in tiny.modules():
        if isinstance(module, torch.nn.Linear):
            hook = module.register_forward_pre_hook(lambda _, x: seen.append(x[0].numel()))
            hooks.append((hook, module.in_features))
    text = generate(tiny, tokens(19), 4)
    for hook, _ in hooks:
        hook.remove()
    calls = len(hooks)
    rows = [n // k for n, (_, k) in zip(seen, hooks * (len(seen) // calls), strict=False)]
    assert rows[::calls] == [8, 8, 3, 1, 1, 1] and max(rows) == 8
    assert text.shape == (1, 23) and torch.equal(text[:, :19], tokens(19))
    for at in range(19, 23):
        assert text[0, at] == tiny(text[:, :at])[0, -1].argmax()


BAD_ARGUMENTS = {
    "one text": (
        dict(tokens=tokens(5)[0]),
        r"tokens must be \(B, T\) with at least one token, got",
    ),
    "no token": (dict(tokens=tokens(0)), r"tokens must be .*got \(1, 0\): prompt\(text\) makes"),
    "a list": (dict(tokens=[1, 2]), "tokens must be a torch.Tensor, got list"),
    "count": (dict(count=-1), "count must be an int of at least 0, got -1"),
    "temperature": (dict(temperature=-1.0), "temperature must be a number of at least 0, got -1.0"),
    "no temperature": (dict(temperature=float("nan")), "temperature must be a number .* got nan"),
    "one seed": (dict(seeds=[3]), r"seeds must be a list of 2 ints from 0, got \[3\]"),
    "a seed": (dict(seeds=3), "seeds must be a list of 2 ints from 0, got 3"),
    "rows": (dict(rows=0), "rows must be an int of at least 1, got 0"),
    "too many": (dict(count=30), "34 tokens are more than the model takes, 32: cut the text"),
}


@pytest.mark.parametrize(("arguments", "sentence"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_generate_refuses_before_it_runs_the_model(tiny, arguments, sentence):
    calls = tiny.register_forward_pre_hook(lambda *_: pytest.fail("the model ran"))
    with pytest.raises((TypeError, ValueError), match=sentence):
        generate(**{"model": tiny, "tokens": tokens(5, texts=2), "count": 3} | arguments)
    calls.remove()


def test_generate_fills_the_context(tiny):
    assert generate(tiny, tokens(30), 3).shape == (1, 33)
    assert torch.equal(generate(tiny, tokens(5), 0), tokens(5))


def test_a_seed_alone_decides_a_sample(tiny):
    start = torch.zeros(3, 1, dtype=torch.int64)
    together = generate(tiny, start, 9, temperature=1.0, seeds=[4, 5, 4])
    alone = generate(tiny, start[:1], 9, temperature=1.0, seeds=[5])
    assert torch.equal(together[0], together[2]) and torch.equal(together[1:2], alone)
    assert not torch.equal(together[0], together[1])


def test_quantize_takes_every_linear_layer(tiny):
    model = Llama(TINY).eval().requires_grad_(False)
    model.load_state_dict(tiny.state_dict())
    quantize_(model, 8, group_size=128, skip=None)
    assert not [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    assert output_rows(model) == output_rows(tiny) == 2 * (256 + 128 + 512 + 128) + 64
    text = tokens(8)
    error = (model(text) - tiny(text)).norm() / tiny(text).norm()
    assert error < 0.05


def test_the_lessons_model_is_small_enough_for_the_simulator():
    assert output_rows(Llama(Config())) == 10_880
    wider = replace(Config(), intermediate_size=1024)
    assert output_rows(Llama(wider)) > 12_000


def test_the_model_stays_short_enough_to_read():
    assert len(Path(llama.__file__).read_text().splitlines()) <= 150
