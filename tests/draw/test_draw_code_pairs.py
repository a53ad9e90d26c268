"""The picture of pairs: it decodes as the kernel's own dequant_pair does."""

import re
import sys

import pytest
import torch

from gemlite_edu.kernels import sources
from gemlite_edu.runners import simulator
from gemlite_lab import draw

pytestmark = pytest.mark.usefixtures("shown")

drawing = sys.modules["gemlite_lab.draw.code_pairs"]
WORD, NEXT = 0x76543210, 0xFEDCBA98
KERNEL = """
__global__ void kernel(float* out) {
  if (threadIdx.x < 4) {
    const float2 numbers = __half22float2(dequant_pair(PAIRS, threadIdx.x));
    out[2 * threadIdx.x] = numbers.x;
    out[2 * threadIdx.x + 1] = numbers.y;
  }
}
"""
FIELDS = pytest.mark.parametrize("f", range(4))


@pytest.fixture
def figures(monkeypatch):
    found = []
    monkeypatch.setattr(drawing, "display_png", lambda figure, _: found.append(figure))
    return found


def halves_printed(text):
    found = re.search(r"the two halves read (\d+) and (\d+): (\d+) \+ code", text)
    return [int(number) for number in found.groups()]


@FIELDS
def test_the_halves_are_the_codes_with_an_offset(f, capsys):
    draw.code_pairs(WORD, NEXT, f)
    low, high, offset = halves_printed(capsys.readouterr().out)
    assert (low - offset, high - offset) == (f, 8 + f)


def test_the_halves_are_those_of_the_kernels_own_text(capsys):
    """An offset that the kernel brings all fields to, 64, is left on half of them already."""
    made = decoded(0xBA983210)
    for f in range(4):
        draw.code_pairs(WORD, NEXT, f)
        low, high, offset = halves_printed(capsys.readouterr().out)
        assert made[f] == [low - offset + 64, high - offset + 64]
    assert offset == 64, "field 3 lies at bit 4 after the shift"


def decoded(pairs):
    """[[first, second half] of dequant_pair(pairs, f) for each f], by the simulator."""
    helpers = sources.read("tensor_core.cuh").partition("#ifndef __CUDACC__\n// What")[0]
    helpers = helpers.replace('#include "warp.cuh"', "").replace("#pragma once", "")
    text = helpers + sources.hole("dequant_pair", "gemv_a16w3to8_fast") + KERNEL
    out = torch.zeros(8)
    library = simulator.build_kernel(text, "kernel", {"W_NBITS": 4, "PAIRS": f"{pairs:#x}u"})
    launch = simulator.Launch(grid=(1, 1), threads=32)
    tensors = [simulator.Tensor("out", out, is_output=True)]
    simulator.run_kernel(library, tensors, launch, 60.0)
    return out.view(4, 2).tolist()


@FIELDS
def test_the_picture_frames_the_code_in_each_row(f, figures):
    draw.code_pairs(WORD, NEXT, f)
    (axes,) = figures[0].axes
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    frames = [patch for patch in axes.patches if patch.get_linewidth() == 2.5]
    framed = [texts[patch.get_x() + 2, patch.get_y() + 0.5] for patch in frames]
    assert framed[:2] == [f"{f:x}", f"{8 + f:x}"]
    assert set(framed) == {f"{f:x}", f"{8 + f:x}"} and len(framed) % 2 == 0


def test_it_shows_one_picture(shown):
    draw.code_pairs(WORD, NEXT, 1)
    assert shown[0].alt == "A code of each word becomes a half: 65 and 73"


@pytest.mark.parametrize("f", [-1, 4, 1.5])
def test_another_field_is_refused(f, shown):
    with pytest.raises(ValueError, match=f"^f must be from 0 to 3, got {f}"):
        draw.code_pairs(WORD, NEXT, f)
    assert not shown
