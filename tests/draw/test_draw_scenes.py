"""The scenes of the lessons: each is there, small, and shows what its kernel does."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
import torch

from gemlite_edu import Window, load, pack_warped_int32, quantize_linear
from gemlite_lab import draw, launch
from gemlite_lab.draw import play
from gemlite_lab.draw.play import MOST_BYTES

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
# {lesson: what some step of its scenes says}
SCENES = {
    "gemv": "take in a shuffle the value of the lane 4 further up",
    "shared_memory": "phase 2: all lanes load x_shared, 2 bytes each: 1 wavefront; warp 0 wrote it",
    "races": "WRONG: ",
    "fused_dequant": "all lanes load x_shared, 2 bytes each: 2 wavefronts",
    "groups": "lanes 16–31 load scales, 4 bytes each: 1 sector",
    "split_k": "lane 0 loads partial, 4 bytes each: 1 wavefront; warp 3 wrote it",
    "ladder_memory": "multiply by mma.sync",
    "w2a8_tensor_cores": "multiply fragments by mma_sync, 8 sums each",
}
LAYOUTS = """
__global__ void words(const float* x, float* y) {
  const int lane = threadIdx.x;
  float sum = 0.0f;
  for (int j = 0; j < 4; ++j) sum += x[32 * j + lane];
  y[lane] = sum;
}"""


def scenes_of(slug):
    """The HTML of the players in the committed lesson."""
    (path,) = NOTEBOOKS.glob(f"[0-9][0-9]_{slug}.ipynb")
    for cell in json.loads(path.read_text())["cells"]:
        for output in cell.get("outputs", ()):
            html = "".join(output.get("data", {}).get("text/html", ""))
            if "gemlite-play" in html:
                yield html


def frames_of(html):
    (raw,) = re.findall(r"data-frames='([^']*)'", html)
    return json.loads(unescape(raw))["frames"]


def said_in(html):
    return [unescape(words) for words in re.findall(r'<li class="step"><b>(.*?)</b>', html)]


@pytest.mark.parametrize("slug", SCENES)
def test_a_lesson_has_its_scene(slug):
    said = [words for html in scenes_of(slug) for words in said_in(html)]
    assert any(SCENES[slug] in words for words in said)


@pytest.mark.parametrize("slug", SCENES)
def test_a_scene_is_small_and_says_every_frame(slug):
    for html in scenes_of(slug):
        assert len(html.encode()) <= MOST_BYTES
        said = said_in(html)
        assert len(said) == len(frames_of(html))
        shown = re.search(r'<div class="said"[^>]*>(.*?)</div>', html)[1]
        assert unescape(shown) == said[0]
        assert len(re.findall(r'<rect class="lane"', html)) == 32  # before any script


def test_neighbours_and_words_apart_touch_other_sectors():
    def said(text):
        x, y = torch.ones(128), torch.zeros(32)
        return said_in(play(launch(text, 1, 32, x=x, y=y, window=Window(steps=4))).html)

    near = LAYOUTS.replace("32 * j + lane", "4 * lane + j")
    assert all(words.endswith("load x, 4 bytes each: 4 sectors") for words in said(LAYOUTS))
    assert all(words.endswith("load x, 4 bytes each: 16 sectors") for words in said(near))


def changed(kernel, right, wrong):
    assert right in kernel.source
    return kernel.with_changed_source(lambda text: text.replace(right, wrong, 1))


def test_another_border_of_groups_changes_who_asks_for_which_scale():
    torch.manual_seed(0)
    q = quantize_linear(torch.randn(4, 256), nbits=4, group_size=64)
    operands = pack_warped_int32(q.W_q, nbits=4), q.scales, q.zeros
    kernel = load("gemv_a16wn_fp32", nbits=4, group_size=64)
    wrong = changed(kernel, "(k + j * WARP_SIZE) / GROUP", "(k + 48 + j * WARP_SIZE) / GROUP")

    def groups(kernel):
        report = kernel.inspect(torch.ones(1, 256).half(), *operands, window=Window(steps=20))
        loads = [step for step in report.record.steps if step.name == "scales"]
        return [sorted({at // 4 for at in step.bytes_of.values()}) for step in loads]

    assert groups(kernel) == [[0], [1], [2], [3]]
    assert groups(wrong) == [[0, 1], [1, 2], [2, 3], [3]]


def test_the_block_of_the_fast_kernel_asks_ahead():
    html = draw.fast_block().html
    said = said_in(html)
    product = next(i for i, words in enumerate(said) if "mma.sync" in words)
    barrier = next(i for i, words in enumerate(said) if "barrier" in words)
    assert sum("load W_packed" in words for words in said[barrier:product]) == 2
    assert "batch 0 on its way" in html


def test_a_wait_forgotten_in_the_fast_kernel_is_seen_where_it_happens():
    torch.manual_seed(0)
    kernel = load("gemv_a16wn_fast", nbits=4, group_size=128)
    q = quantize_linear(torch.randn(16, 256), nbits=4, group_size=128)
    operands = torch.ones(1, 256).half(), *kernel.pack(q.W_q, q.scales, q.zeros)
    wrong = changed(kernel, "__pipeline_wait_prior(0);", "")
    right, forgotten = (
        said_in(play(k.inspect(*operands, window=Window(steps=60))).html) for k in (kernel, wrong)
    )
    assert not any("WRONG" in words for words in right)
    first = next(words for words in forgotten if "WRONG" in words)
    assert "load x_shared, 16 bytes each" in first and "asynchronous copy" in first
