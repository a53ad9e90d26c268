"""The text, the training and the files of the small Llama, each with a little of everything."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

import small_llama_text
import train_small_llama

from gemlite_lab.lesson.llama import Config

TINY = Config(64, 64, 128, 1, 2, 1, 32)


@pytest.mark.parametrize(
    "module, test",
    [("queue", "test.test_queue"), ("json.__init__", "test.test_json.__init__"), ("_abc", "abc")],
)
def test_a_module_and_its_test_land_in_one_part(module, test):
    assert small_llama_text.part_of(module) == small_llama_text.part_of(test)


def test_the_parts_are_those_of_the_list():
    assert small_llama_text.part_of("queue") == "held_out"
    assert small_llama_text.part_of("argparse") == "validation"
    assert small_llama_text.part_of("os") == "train"


def test_only_modules_that_parse_are_taken_and_each_text_once(tmp_path):
    files = {
        "one.py": "x = 1\n",
        "package/two.py": "y = 2\n",
        "package/same.py": "x = 1\n",
        "broken.py": "x = (\n",
        "empty.py": "\n",
        "encodings/table.py": "z = 3\n",
        "_sysconfigdata_linux.py": "z = 4\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    found = small_llama_text.modules(tmp_path)
    assert found == {"one": "x = 1\n", "package.two": "y = 2\n"}


def test_an_epoch_has_each_window_once_and_another_cut():
    numbers, batches = torch.arange(1000), []
    stream = train_small_llama.windows(numbers, 10, 9, torch.Generator().manual_seed(0))
    for _ in range(22):  # two epochs of 11 batches, 99 windows
        batches.append(next(stream))
    for epoch in (batches[:11], batches[11:]):
        starts = torch.cat(epoch)[:, 0]
        assert len(starts.unique()) == 99 and len((starts % 10).unique()) == 1
    assert (batches[0][:, 1:] == batches[0][:, :-1] + 1).all() and batches[0].shape == (9, 11)
    assert batches[0][0, 0] % 10 != batches[11][0, 0] % 10


def test_training_learns_saves_the_best_step_and_stops_early(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(train_small_llama, "Config", lambda: TINY)
    monkeypatch.setattr(train_small_llama, "WARM_UP", 3)
    pattern = np.tile(np.arange(7, dtype=np.uint16), 100)
    for part in ("train", "validation"):
        np.save(tmp_path / f"{part}.npy", pattern)
    (tmp_path / "text.json").write_text(json.dumps({"parts": {"validation": {"bytes": 700}}}))
    arguments = argparse.Namespace(
        **{"text": tmp_path, "out": tmp_path / "out", "seed": 1, "minutes": 1e3, "steps": 40},
        **{"batch": 4, "context": 16, "rate": 0.01, "decay": 0.1, "dropout": 0.1, "every": 10},
        **{"patience": 5, "eager": True},
    )
    train_small_llama.train(arguments)
    record = json.loads((tmp_path / "out" / "curve.json").read_text())
    bits = [row["validation_bits_per_byte"] for row in record["curve"]]
    assert [row["step"] for row in record["curve"]] == [0, 10, 20, 30, 40]
    assert 5.5 < bits[0] < 6.5 and min(bits) < 1
    assert f"best: {min(bits):.4f}" in capsys.readouterr().out
    state = torch.load(tmp_path / "out" / "weights.pt", weights_only=True)
    assert "lm_head.weight" not in state and state["embedding.weight"].dtype == torch.float16

    arguments.rate, arguments.patience, arguments.steps = 0.0, 2, 1000
    train_small_llama.train(arguments)
    record = json.loads((tmp_path / "out" / "curve.json").read_text())
    assert [row["step"] for row in record["curve"]] == [0, 10, 20]
