"""Whole models, on a tiny Llama without a GPU: what a row says, what is refused, what is kept."""

from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from measured_rows import model_row
from replayed_calls import ReplayedCalls

pytest.importorskip("transformers")

from gemlite_lab.bench.candidate import Prepared
from gemlite_lab.bench.card import Card
from gemlite_lab.bench.measurements import append
from gemlite_lab.bench.measuring import Refused
from gemlite_lab.bench.model import __main__ as command
from gemlite_lab.bench.model import trace
from gemlite_lab.bench.model.build import build
from gemlite_lab.bench.model.checks import check_layers, check_tokens
from gemlite_lab.bench.model.contenders import CONTENDERS, Contender
from gemlite_lab.bench.model.gauges import Gauges
from gemlite_lab.bench.model.measure import Cell, measure
from gemlite_lab.bench.model.parts import parts_of
from gemlite_lab.bench.model.report import bars
from gemlite_lab.bench.model.rows import newest_rows, read_rows
from gemlite_lab.bench.model.run import Run, run_parts
from gemlite_lab.bench.model.shapes import SHAPES, Shape
from gemlite_lab.bench.model.steps import CHECKED, PROMPT, Decode

TINY = Shape("tiny", 128, 256, 2, 4, 2, 32, 512)
TIED = replace(TINY, name="tied", is_tied=True)
CARD = Card("a card", 1_000, read_gb_per_s=4000.0, matmul_tflops=700.0, driver="1.2")
CPU = torch.device("cpu")
MB = 1_000_000
FP16, OURS = CONTENDERS["fp16"], CONTENDERS["ours"]
CELLS = (Cell("decode", 2), Cell("prefill", 32))


class Memory:
    """5 MB at the peak, of which 2 MB belong to others."""

    held, reset, peak = (
        staticmethod(lambda value=value: value) for value in (2 * MB, None, 5 * MB)
    )


class Graph(ReplayedCalls):
    microseconds = 400.0


class AsIs(ReplayedCalls):
    microseconds = 900.0


GAUGES = Gauges(Graph, AsIs, Memory, compiles=False)


@pytest.fixture(scope="module")
def dense():
    return build(TINY, FP16, CPU)


@pytest.fixture(scope="module")
def ours():
    return build(TINY, OURS, CPU)


def run_of(path, **changed):
    return Run(CPU, CARD, path, **{"gauges": GAUGES, "cells": CELLS} | changed)


def altered(name, change):
    """Ours, but for the layer of this number, of whose codes `change` makes others."""
    count = iter(range(100))

    def layer(q):
        codes = change(q.codes) if next(count) == name else q.codes
        return OURS.layer(replace(q, codes=codes))

    return Contender("altered", "gemlite_linear", layer)


def test_a_row_says_what_was_measured_and_of_what(tmp_path):
    run_of(tmp_path / "rows.csv").part(TINY, OURS)
    decode, prefill = read_rows(tmp_path / "rows.csv")
    assert (decode.shape, decode.contender, decode.weights) == ("tiny", "ours", "W4 g128")
    assert (decode.phase, decode.size, decode.context) == ("decode", 2, PROMPT)
    assert (prefill.phase, prefill.size, prefill.context) == ("prefill", 32, 0)
    assert (decode.p50_us, decode.as_is_us, decode.linear_us) == (400.0, 900.0, 400.0)
    assert (decode.tokens_per_s, prefill.tokens_per_s) == (2 / 400e-6, 32 / 400e-6)
    assert (decode.peak_bytes, decode.linear_share) == (3 * MB, 1.0)
    assert 1 <= decode.weight_bytes / TINY.least_weight_bytes(4, 128) < 1.05
    assert decode.version == OURS.version() and "+" in decode.version
    assert (decode.error < 1e-3, decode.equal_tokens, decode.refused) == (True, 1.0, "")
    assert (decode.read_gb_per_s, decode.driver, decode.dtype) == (4000.0, "1.2", "float16")


def test_kept_rows_are_not_measured_again(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    assert run_of(path, cells=CELLS[:1]).part(TINY, OURS)
    again = run_of(path)
    assert again.part(TINY, OURS)
    assert [row.phase for row in again.rows] == ["prefill"]
    assert "tiny-ours: 1 steps to measure, 1 kept" in capsys.readouterr().out


def test_a_row_of_another_machine_or_version_is_another(tmp_path):
    path = tmp_path / "rows.csv"
    run_of(path, cells=CELLS[1:]).part(TINY, OURS)
    (row,) = read_rows(path)
    for changed in ("device", "version", "torch", "triton", "transformers", "cuda"):
        assert replace(row, **{changed: "another"}).key != row.key
    path.unlink()
    append(path, replace(row, version="0.1.0+another"))
    run = run_of(path, cells=CELLS[1:])
    run.part(TINY, OURS)
    assert [again.key for again in run.rows] == [row.key]


def test_no_step_is_begun_after_the_time(tmp_path, capsys):
    run = run_of(tmp_path / "rows.csv", ends_at=0)
    assert not run.part(TINY, OURS) and run.rows == []
    assert "the next run goes on here" in capsys.readouterr().out


@pytest.mark.parametrize(
    "number, name", [(0, "0.self_attn.qkv"), (7, "1.mlp.down"), (8, "lm_head")]
)
def test_a_layer_with_altered_codes_is_refused_by_name(dense, number, name):
    built = build(TINY, altered(number, lambda codes: codes.roll(1, 1)), CPU)
    with pytest.raises(Refused, match=rf"{name}.* is wrong: its relative error is"):
        check_layers(TINY, built, dense, 3, 3)


def test_one_code_of_a_head_is_enough(dense):
    def change(codes):
        codes = codes.clone()
        codes[3] = 15
        return codes

    with pytest.raises(Refused, match="lm_head is wrong"):
        check_layers(TINY, build(TINY, altered(8, change), CPU), dense, 3, 3)


def test_a_refused_model_has_a_row_without_times_and_is_not_tried_again(tmp_path):
    contender = altered(5, lambda codes: 15 - codes)
    run = run_of(tmp_path / "rows.csv")
    assert run.part(TINY, contender)
    rows = read_rows(tmp_path / "rows.csv")
    assert [row.p50_us for row in rows] == [0.0, 0.0]
    assert all("model.layers.1.self_attn.o_proj is wrong" in row.refused for row in rows)
    again = run_of(tmp_path / "rows.csv")
    assert again.part(TINY, contender) and again.rows == []


def test_right_layers_in_a_wrong_model_give_wrong_tokens(dense):
    built = build(TINY, OURS, CPU)
    for layer in built.model.model.layers:
        layer.mlp.act_fn = torch.nn.Identity()
    with pytest.raises(Refused, match="wrong tokens: .* standard deviations below the largest"):
        measure(TINY, built, dense, CELLS[0], CARD, 0, GAUGES)


def test_a_graph_that_decodes_nothing_is_refused(dense, ours):
    """A clock that answers with the tokens that an earlier run left."""

    class Lazy(Graph):
        def replay(self):
            step._position += 1
            return self.microseconds

    with torch.no_grad():
        step = Decode(ours, 2)
        step.read_prompt(dense)
        clock = Graph([step.step])
        texts, chosen = step.run(clock)
        assert check_tokens(dense, texts, chosen).equal > 0.9
        with pytest.raises(Refused, match="wrong tokens"):
            check_tokens(dense, *step.run(Lazy([step.step])))


def unfused(shape, built):
    """transformers' own model, with the rows of the fused weights for its projections."""
    from transformers import LlamaForCausalLM

    model = LlamaForCausalLM(shape.config()).eval()
    state = {k: v.float() for k, v in built.model.state_dict().items()}
    for name in [name for name in state if "qkv_proj" in name or "gate_up" in name]:
        parts = state.pop(name).split(
            [shape.intermediate] * 2
            if "gate_up" in name
            else [h * shape.head_size for h in (shape.heads, shape.kv_heads, shape.kv_heads)]
        )
        names = ("gate", "up") if "gate_up" in name else ("q", "k", "v")
        fused = "gate_up" if "gate_up" in name else "qkv"
        state |= {name.replace(fused, n): p for n, p in zip(names, parts, strict=True)}
    model.load_state_dict(state)
    return model


@pytest.mark.parametrize("shape", [TINY, TIED], ids=lambda shape: shape.name)
@torch.no_grad()
def test_the_fused_model_decodes_what_transformers_own_does(shape):
    built = build(shape, FP16, CPU)
    own = unfused(shape, built)
    built = replace(built, model=built.model.float(), dtype=torch.float32)
    step = Decode(built, 2)
    step.read_prompt(replace(built, model=deepcopy(built.model)))
    texts, chosen = step.run(Graph([step.step]))
    logits = own(texts).logits[:, -CHECKED:]
    assert chosen.shape == (2, CHECKED) and torch.equal(logits.argmax(-1), chosen)
    prompt = texts[:, :PROMPT]
    greedy = own.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=4, do_sample=False
    )
    assert torch.equal(greedy[:, PROMPT:], chosen[:, :4])


def test_a_tied_head_shares_its_memory_only_where_it_is_dense():
    tied, quantized = (build(TIED, one, CPU).model for one in (FP16, OURS))
    embedding = tied.model.embed_tokens.weight
    assert tied.lm_head.weight is embedding
    assert torch.equal(quantized.model.embed_tokens.weight, embedding)


def test_all_contenders_multiply_by_the_same_numbers(dense, ours):
    weights = ours.linears(TINY)["lm_head"](torch.eye(128).half()).T
    assert torch.equal(weights, dense.linears(TINY)["lm_head"].weight)


@pytest.mark.parametrize("name, package", [("torchao", "torchao"), ("humming", "humming-kernels")])
def test_a_missing_peer_has_one_sentence(tmp_path, capsys, monkeypatch, name, package):
    from gemlite_lab.bench import candidate

    installed = candidate.version
    monkeypatch.setattr(
        candidate, "version", lambda p: missing(p) if p == package else installed(p)
    )
    run = run_of(tmp_path / "rows.csv")
    run_parts([(TINY, CONTENDERS[name])], run)
    assert capsys.readouterr().out == (
        f"{name} is left out: {package} is not installed (the extra `peers` has it)\n"
    )
    assert run.rows == []


def missing(package):
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(package)


def test_a_peer_that_raises_gets_rows_that_say_so_and_the_run_goes_on(tmp_path):
    def raises(q):
        raise RuntimeError("no kernel image\nfor this GPU")

    run = run_of(tmp_path / "rows.csv")
    peer = Contender("peer", "cublas", raises)
    run_parts([(TINY, peer), (TINY, FP16)], run)
    assert [row.refused for row in run.rows] == [
        *["it raised RuntimeError: no kernel image"] * 2,
        *[""] * 2,
    ]


def test_a_run_ends_when_the_gpu_fails_and_goes_on_after_that_step(tmp_path, capsys):
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    peer = Contender("peer", "cublas", lambda q: Prepared(Fails(), (q.codes,)))
    run_parts([(TINY, peer), (TINY, FP16)], run_of(tmp_path / "rows.csv"))
    (row,) = read_rows(tmp_path / "rows.csv")
    assert row.refused.startswith("it raised RuntimeError: CUDA error")
    assert "run it again for the other steps" in capsys.readouterr().out


def test_times_that_the_card_cannot_reach_are_refused(dense, ours):
    slow = replace(CARD, read_gb_per_s=0.5)
    with pytest.raises(Refused, match="of weights and cache in 400.0 us are 1 GB/s, and this card"):
        measure(TINY, ours, dense, CELLS[0], slow, 0, GAUGES)
    weak = replace(CARD, matmul_tflops=0.01)
    with pytest.raises(Refused, match="are 0 TFLOP/s, and this card multiplies at 0"):
        measure(TINY, ours, dense, CELLS[1], weak, 0, GAUGES)


def test_weights_that_the_l2_may_keep_are_refused(dense, ours):
    warm = replace(CARD, l2_bytes=10**6)
    with pytest.raises(Refused, match="the L2 may keep them: .* at least 4,000,000"):
        measure(TINY, ours, dense, CELLS[0], warm, 0, GAUGES)


def test_a_peak_that_cannot_hold_the_weights_is_refused(dense, ours):
    """As when tensors of an earlier part counted as others', and were freed meanwhile."""
    with pytest.raises(Refused, match="a peak of 1,000 bytes cannot hold the weights'"):
        measure(TINY, ours, dense, CELLS[0], CARD, 5 * MB - 1000, GAUGES)


def test_a_trace_adds_the_launches_of_a_kernel_and_says_what_is_left():
    gpu, host = torch.autograd.DeviceType.CUDA, torch.autograd.DeviceType.CPU
    launches = [("gemv", gpu, 5.0), ("add", gpu, 1.0), ("gemv", gpu, 7.0), ("launch", host, 90.0)]
    events = [SimpleNamespace(name=n, device_type=d, device_time=us) for n, d, us in launches * 2]
    kernels = trace.kernel_times(events, replays=2)
    assert kernels == [trace.KernelTime("gemv", 2, 12.0), trace.KernelTime("add", 1, 1.0)]
    lines = trace.table(20.0, kernels).splitlines()
    assert lines[1].split() == ["12.0", "60%", "2", "gemv"]
    assert lines[-1].split() == ["7.0", "35%", "between", "kernels"]


@pytest.mark.parametrize(
    "part, said",
    [("9B", "there is no part '9B'"), ("8B", "name a shape and a contender, as in 8B-ours")],
)
def test_a_trace_asks_for_one_part_in_one_sentence(capsys, part, said):
    with pytest.raises(SystemExit):
        trace.main([part, "decode", "1"])
    assert said in capsys.readouterr().err


def test_the_limits_of_the_real_shapes():
    large, small = SHAPES["8B"], SHAPES["1B"]
    count = sum(N * K for N, K in large.linears().values())
    assert count == 7_504_658_432 and len(large.linears()) == 129
    assert sum(N * K for N, K in small.linears().values()) == 1_235_746_816
    assert large.least_weight_bytes(16, None) == 2 * count
    assert large.least_weight_bytes(4, 128) == count * 4.25 / 8
    assert large.cache_bytes(batch=4, context=128) == 4 * 128 * 128 * 1024
    us = large.decode_limit_us(4, 128, 1, 128, read_gb_per_s=4000.0)
    assert us == (count * 4.25 / 8 + 128 * 128 * 1024) / 4e6
    assert large.operations(128, 1) == 2 * (128 * (count - 128256 * 4096) + 128256 * 4096)


def test_parts_are_named_by_shape_contender_or_both():
    names = [f"{s.name}-{c.name}" for s, c in parts_of(["8B-ours", "1B"])]
    assert names == ["8B-ours", *(f"1B-{name}" for name in CONTENDERS)]
    assert len(parts_of([])) == 10
    with pytest.raises(ValueError, match="there is no part '9B': name a shape"):
        parts_of(["9B"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_there_is_one_sentence(capsys):
    assert command.main([]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "GPU" in said.err


def test_the_command_prints_the_rows_and_the_bars(tmp_path, capsys, monkeypatch):
    from gemlite_lab.bench import card
    from gemlite_lab.bench.model import run

    path = tmp_path / "rows.csv"
    for contender, us in (("ours", 1500.0), ("fp16", 3900.0)):
        append(path, model_row(contender, p50_us=us, tokens_per_s=1e6 / us))
    monkeypatch.setattr(command.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(card, "current_card", lambda: CARD)
    asked = []
    monkeypatch.setattr(run, "run_parts", lambda parts, run: asked.extend(parts))
    assert command.main(["--rows", str(path), "--parts", "8B-ours", "--minutes", "9"]) == 0
    said = capsys.readouterr().out
    assert asked == [(SHAPES["8B"], OURS)]
    assert "ours      decode     1      1500       667    2.60" in said
    assert "reached 8B, decode 1: ours is so many times as fast as fp16, at least 2.2: 2.60" in said


def test_the_bars_are_those_of_the_rows():
    found = bars(
        rows_of(
            model_row("fp16", p50_us=4000.0, peak_bytes=16 * 10**9),
            model_row("ours", p50_us=1600.0, peak_bytes=6 * 10**9),
            model_row("humming", p50_us=1500.0),
            model_row("gemlite", p50_us=1800.0),
            model_row("ours", "1B", size=16, p50_us=300.0),
            model_row("torchao", "1B", size=16, p50_us=301.0),
            model_row("fp16", phase="prefill", size=4096, p50_us=100.0),
            model_row("ours", phase="prefill", size=4096, p50_us=116.0),
        )
    )
    assert found == [
        ("8B, decode 1: ours is so many times as fast as fp16, at least 2.2", "2.50", True),
        ("8B, decode 1: ours is ahead of 2 peers", "1600 us, humming 1500", False),
        ("1B, decode 16: ours is ahead of 1 peer", "300 us, torchao 301", True),
        ("8B, prefill 4096: ours takes so much of fp16's time, at most 1.15", "1.16", False),
        ("8B, decode 1: ours takes so much of fp16's memory, at most 0.35", "0.38", False),
    ]


def test_a_refusal_hides_an_older_time():
    rows = rows_of(model_row("ours"), model_row("ours", p50_us=0.0, refused="wrong"))
    assert rows == {} and bars(rows) == []


def rows_of(*rows):
    return newest_rows(list(rows))
