"""The way from trained weights to transformers' files, and back into the readable model."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

import export_small_llama

from gemlite_lab.lesson.llama import Config, Llama
from gemlite_lab.lesson.small_llama import fused

TINY = Config(64, 64, 128, 2, 4, 2, 32)


def test_what_export_splits_the_lessons_fuse():
    torch.manual_seed(0)
    model = Llama(TINY).half()
    model.lm_head.weight = model.embedding.weight
    state = export_small_llama.split(model.state_dict(), TINY)
    assert state["model.layers.1.self_attn.k_proj.weight"].shape == (2 * TINY.head_size, 64)
    assert state["model.layers.0.mlp.up_proj.weight"].shape == (128, 64)
    assert "lm_head.weight" not in state
    again = fused(state, TINY)
    assert again.keys() == model.state_dict().keys()
    for name, tensor in model.state_dict().items():
        assert torch.equal(again[name], tensor), name
    assert again["lm_head.weight"].data_ptr() != again["embedding.weight"].data_ptr()


def test_the_best_row_is_the_one_with_the_fewest_bits():
    bits = (3.0, 1.25, 1.5)
    curve = [{"step": i, "validation_bits_per_byte": b} for i, b in enumerate(bits)]
    assert export_small_llama.best_of({"curve": curve})["step"] == 1
