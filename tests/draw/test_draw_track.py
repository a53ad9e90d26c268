"""The strip of a player: phases, functions and copies of real kernels, and its frame."""

import re

import pytest
import torch

from gemlite_edu import Window, load, pack_bitnet_2bit, quantize_ternary
from gemlite_lab import play
from gemlite_lab.draw.track import part_of, stride

LOOP = "    __pipeline_wait_prior(1);\n    if"


@pytest.fixture(scope="module")
def inspected():
    """inspected(right, wrong) gives a report of gemm_a8w2_wmma with that change."""
    torch.manual_seed(0)
    W_q = quantize_ternary(torch.randn(32, 2048)).W_q
    x = torch.randint(-127, 128, (16, 2048)).to(torch.int8)

    def run(right="", wrong="", steps=79):
        kernel = load("gemm_a8w2_wmma")
        assert right in kernel.source
        kernel = kernel.with_changed_source(lambda text: text.replace(right, wrong, 1))
        return kernel.inspect(x, pack_bitnet_2bit(W_q), window=Window(steps=steps))

    return run


def strip_of(html):
    return re.search(r"<svg aria-hidden.*?</svg>", html, re.DOTALL)[0]


def labels(html):
    return re.findall(r"<text[^>]*>([^<]*)</text>", strip_of(html))


def test_it_names_phases_functions_and_batches(inspected):
    found = labels(play(inspected()).html)
    assert [label for label in found if label.startswith("phase")] == ["phase 1", "phase 2"]
    assert "multiply_step" in found and "copy_step" in found
    assert [label for label in found if label.startswith("batch")] == [
        *("batch 0 on its way", "batch 1 on its way", "batch 2 on its way")
    ]


def test_each_step_has_a_cell_of_the_colour_of_its_lanes(inspected):
    player = play(inspected())
    width = stride(range(player.steps))
    cells = re.findall(
        rf'<rect x="[^"]*" y="33.0" width="{width:.5g}"[^>]*fill="([^"]*)"', player.html
    )
    assert len(cells) == player.steps
    assert len(set(cells)) == 6  # copies, batches, stores, loads, products, meetings


def test_its_frame_moves_with_the_steps(inspected):
    html = play(inspected()).html
    assert 'class="cursor" x="0"' in html
    assert "this.value*all.stride" in html and f'"stride":{stride(range(79))}' in html


def test_a_forgotten_wait_changes_the_strip_and_shows_where_it_is_missed(inspected):
    wrong = play(inspected(LOOP, "    if"))
    assert "WRONG" in wrong.html and "to the first fault" in wrong.html
    assert strip_of(wrong.html) != strip_of(play(inspected()).html)


def test_an_impatient_wait_leaves_nothing_on_its_way(inspected):
    patient = inspected().record.steps
    impatient = inspected(LOOP, LOOP.replace("(1)", "(0)")).record.steps
    assert all(step.copies for step in patient if "multiply_step" in dict(step.calls))
    assert not any(step.copies for step in impatient if "multiply_step" in dict(step.calls))


def test_a_part_is_the_first_function_in_which_not_all_steps_are(inspected):
    steps = inspected().record.steps
    assert {part_of(steps)(step) for step in steps} == {
        *("copy_step", "decode_step", "multiply_step", "")
    }
    copies = steps[:6]
    assert {part_of(copies)(step) for step in copies} == {"copy_x", "copy_words"}
    assert {part_of(steps[:1])(step) for step in steps[:1]} == {""}


def test_a_kernel_of_one_phase_and_one_function_has_the_steps_alone():
    x = torch.arange(64).half()[None]
    report = load("gemv_a16w16_warp").inspect(x, torch.ones(1, 64).half(), window=Window(steps=3))
    assert strip_of(play(report).html).count("<rect") == 3 + 1
    assert labels(play(report).html) == []
