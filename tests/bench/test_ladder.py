"""The ladder: every rung is right, and each differs from the one before it by its idea."""

import dataclasses

import pytest
import torch
from measured_rows import measured

from gemlite_edu import load
from gemlite_edu.kernels.machine import SIMULATED
from gemlite_edu.runners import kernel as kernel_module
from gemlite_lab.bench import instructions, ladder
from gemlite_lab.bench.ladder import RungKernel, record, rungs

WIDTHS = (4, 2, 1)
EDITED = [(nbits, rung) for nbits in WIDTHS for rung in rungs(nbits) if rung.shape]
LARGEST_ERROR = 6e-4  # norm-wise: of weights rounded to fp16, and of y
CPU = torch.device("cpu")

any_width = pytest.mark.parametrize("nbits", WIDTHS)
any_rung = pytest.mark.parametrize(("nbits", "rung"), EDITED, ids=lambda v: getattr(v, "name", v))


def problem(nbits, N, K):
    """x, codes, scales, zeros, and y in fp64."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, K, generator=generator).half()
    W_q = torch.randint(0, 2**nbits, (N, K), generator=generator).byte()
    scales = (0.5 + torch.rand(N, K // 128, generator=generator)).half().float()
    zeros = torch.randint(0, 2**nbits, (N, K // 128), generator=generator).float()
    s, z = (t.double().repeat_interleave(128, 1) for t in (scales, zeros))
    return x, (W_q, scales, zeros), x.double() @ ((W_q.double() - z) * s).T


def is_near(y, right):
    return (y.double() - right).norm() <= LARGEST_ERROR * right.norm()


@any_rung
def test_a_rung_whose_blocks_have_many_tiles_gives_the_right_answer(nbits, rung, monkeypatch):
    few_blocks = SIMULATED._replace(multiprocessors=3)
    monkeypatch.setattr(kernel_module, "machine_of", lambda _: few_blocks)
    x, weights, right = problem(nbits, N=200, K=512)
    kernel = RungKernel(rung, nbits)
    assert is_near(kernel(x, *kernel.pack(*weights)), right)


@any_rung
def test_a_rung_whose_blocks_have_one_tile_is_right_and_safe(nbits, rung):
    x, weights, right = problem(nbits, N=72, K=1024)
    kernel = RungKernel(rung, nbits)
    report = kernel.inspect(x, *kernel.pack(*weights))
    assert report.findings == () and is_near(report.y, right)


@any_width
@pytest.mark.parametrize("size", [(8192, 8192), (16384, 16384)], ids=str)
def test_the_last_rung_that_is_kept_is_the_kernel_without_its_early_start(nbits, size):
    last = [rung for rung in rungs(nbits) if rung.is_kept][-1]
    kernel = load("gemv_a16wn_fast", nbits, group_size=128)
    lines = kernel.source.splitlines()
    start = lines.index("  let_next_kernel_begin();")
    assert "wait_for_kernel_before" in lines[start + 2]
    assert RungKernel(last, nbits).source.splitlines() == lines[:start] + lines[start + 3 :]
    launch = kernel.plan(1, *size).product
    assert RungKernel(last, nbits).plan(1, *size).product == launch._replace(starts_early=False)


@any_width
def test_every_rung_changes_something_and_says_what(nbits):
    climb = rungs(nbits)
    made = [
        (rung.kernel, rung.shape and RungKernel(rung, nbits).source, rung.shape) for rung in climb
    ]
    assert len(set(made)) == len({rung.name for rung in climb}) == len(climb)
    for rung in climb:
        assert rung.idea.endswith(".") and rung.predicts.endswith(".")


@any_width
def test_the_instructions_of_every_rung_are_recorded(nbits):
    found = instructions.recorded()["rungs"][str(nbits)]
    assert list(found) == [rung.name for rung in rungs(nbits)]


def test_an_edit_that_does_not_fit_is_named():
    rung = rungs(4)[-1]
    odd = dataclasses.replace(rung, name="odd", edits=(("no such text", ""),))
    with pytest.raises(ValueError, match="^odd: the text has 0 times\nno such text$"):
        RungKernel(odd, 4)


def test_a_rung_takes_one_row_of_whole_tiles():
    kernel = RungKernel(rungs(4)[-1], 4)
    operands = kernel.pack(torch.ones(3, 128).byte(), 1.0, 0.0)
    with pytest.raises(ValueError, match="^a rung takes one row of x, .*, got 2 x 128$"):
        kernel(torch.ones(2, 128).half(), *operands)
    short = RungKernel(rungs(2)[-1], 2)
    with pytest.raises(ValueError, match="^a rung takes .* tiles of 256, got 1 x 128$"):
        short(torch.ones(1, 128).half(), *short.pack(torch.ones(3, 128).byte(), 1.0, 0.0))


def test_other_widths_have_no_ladder():
    with pytest.raises(ValueError, match="^there is a ladder for 4, 2 and 1 bits, got 8$"):
        rungs(8)


# What was measured


def test_what_is_written_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "_FOLDER", tmp_path)
    rows = [measured("a", 3.0), measured("b", 2.0), measured("b", 2.5, weights="W2 g128")]
    ladder.write(rows)
    assert ladder.path_of("Card").name == "ladder_card.json"
    assert ladder.recorded("Card") == rows
    assert '"kernel"' not in ladder.path_of("Card").read_text().splitlines()[1]


def test_counts_that_are_written_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "_FOLDER", tmp_path)
    counts = {"device": "Card", "rungs": {"4": {"a": {"instructions": 7}}}}
    assert ladder.write_counts(counts).name == "ladder_counts_card.json"
    assert ladder.counted("Card") == counts


def test_a_device_without_a_record_is_told():
    with pytest.raises(
        ValueError, match="^no ladder was measured on Card: run measure_ladder.py of "
    ):
        ladder.recorded("Card")
    with pytest.raises(
        ValueError, match="^no ladder was counted on Card: run count_ladder.py of to"
    ):
        ladder.counted("Card")
