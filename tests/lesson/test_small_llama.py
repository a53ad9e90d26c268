"""The small Llama's files: what they hold, and that they give the recorded model."""

import hashlib
import json
import math

import pytest
import torch

from gemlite_lab import (
    bits_per_byte,
    calibration,
    encode,
    generate,
    held_out,
    output_rows,
    prompt,
    small_llama,
    tokenizer,
)
from gemlite_lab.lesson.llama import Config, Llama
from gemlite_lab.lesson.small_llama import END, FOLDER

TRAINING = json.loads((FOLDER / "training.json").read_text())
MEASURED = json.loads((FOLDER / "measured.json").read_text())


@pytest.fixture(scope="module")
def model():
    return small_llama()


def test_the_files_are_small_and_the_model_fits_the_simulator(model):
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 12_000_000
    parameters = {p.data_ptr(): p.numel() for p in model.parameters()}
    assert 3e6 < sum(parameters.values()) - model.lm_head.weight.numel() < 5e6
    assert output_rows(model) == 10_880 <= 12_000
    assert model.config.vocab_size == tokenizer().get_vocab_size() == 2048
    assert all(layer.in_features % 128 == 0 for layer in linear_layers(model))


def linear_layers(model):
    return [module for module in model.modules() if isinstance(module, torch.nn.Linear)]


@pytest.mark.parametrize("part, texts", [("held_out", held_out), ("validation", calibration)])
def test_the_texts_are_those_of_the_list(part, texts):
    hashes = json.loads((FOLDER / "modules.json").read_text())
    found = {name: hashlib.sha256(t.encode()).hexdigest()[:16] for name, t in texts().items()}
    assert found == hashes[part]
    counts = TRAINING["text"]["parts"][part]
    assert len(found) == counts["modules"]
    assert sum(len(text.encode()) for text in texts().values()) == counts["bytes"]


def test_no_text_is_in_two_parts():
    hashes = json.loads((FOLDER / "modules.json").read_text())
    found = [digest for part in hashes.values() for digest in part.values()]
    assert len(found) == len(set(found))
    assert {part: len(of_part) for part, of_part in hashes.items()} == {
        part: counts["modules"] for part, counts in TRAINING["text"]["parts"].items()
    }


def test_tokens_give_back_the_text():
    text = held_out()["netrc"] + "\tß€\r\n"
    tokens = encode(text)
    assert tokens[0] == tokens[-1] == END
    assert tokenizer().decode(tokens[1:-1].tolist()) == text


def test_the_model_is_the_one_measured(model):
    bits = bits_per_byte(model, {"netrc": held_out()["netrc"]})
    assert bits == pytest.approx(0.7016, abs=0.002)


def test_every_token_is_counted_once_from_the_window_before_it():
    torch.manual_seed(0)
    tiny = Llama(Config(2048, 32, 64, 1, 2, 1, max_position_embeddings=16)).eval()
    text = held_out()["email.iterators"][:150]
    tokens, stride, nats = encode(text), 6, 0.0
    for at in range(1, len(tokens)):
        end = min((at - 1) // stride * stride + stride, len(tokens) - 1)
        window = tokens[max(0, end - 16) : at]
        nats -= tiny(window[None])[0, -1].log_softmax(-1)[tokens[at]].item()
    assert len(tokens) > 3 * 16
    bits = bits_per_byte(tiny, {"": text}, stride)
    assert bits == pytest.approx(nats / math.log(2) / len(text.encode()), rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (({},), "texts have no byte to predict"),
        (({"empty": ""},), "texts have no byte to predict"),
        (("a text",), r"texts must be a dict \{module: text\}, got 'a text'"),
        (({"module": "x = 1"}, 4096), "stride must be an int from 1 to 2048, got 4096"),
        (({"module": "x = 1"}, 0), "stride must be an int from 1 to 2048, got 0"),
    ],
)
def test_texts_and_strides_that_cannot_be_measured_are_refused(model, arguments, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        bits_per_byte(model, *arguments)


def test_greedy_tokens_stay_what_they_were(model):
    start = prompt("import os\n")
    tokens = generate(model, start, 8)
    text = tokenizer().decode(tokens[0, start.shape[1] :].tolist())
    assert text == "import sys\nimport unittest\nimport w"


def test_a_prompt_begins_a_module():
    tokens = prompt("import os\n")[0].tolist()
    module = tokens[len(tokens) - tokens[::-1].index(END) :]
    assert tokens[0] == END and tokenizer().decode(module) == "import os\n"
    assert prompt()[0, -1] == END


def test_the_record_says_what_the_readme_says():
    held, samples = MEASURED["bits per byte, held out"], MEASURED["samples"]
    assert held["model"] < held["xz, one stream"] < held["xz, each module"]
    assert samples["all"] == 100 and samples["parse"] >= 50
    table = (FOLDER / "README.md").read_text()
    for number in (held["model"], held["xz, one stream"], held["xz, each module"]):
        assert f"{number:.3f}" in table
    assert f"{samples['parse']} of 100" in table
