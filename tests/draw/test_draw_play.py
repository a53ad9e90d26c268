"""The player: its frames come from the run, and its page needs nothing else."""

import json
import re
from html import unescape
from types import SimpleNamespace

import pytest
import torch

from gemlite_edu import Window, load
from gemlite_lab import launch
from gemlite_lab.draw import play
from gemlite_lab.draw.frames import KINDS, frame_of
from gemlite_lab.draw.play import MOST_BYTES
from gemlite_lab.draw.step_words import heading

SHARED = load("gemv_a16w16_shared")
X = (torch.arange(64) % 7).half()[None]
W = (torch.arange(256).reshape(4, 64) % 5).half()
TILE = """
__global__ void turn(const float* x, float* y) {
  __shared__ float tile[32 * 33];
  for (int row = 0; row < 32; ++row) tile[row * 32 + threadIdx.x] = x[row * 32 + threadIdx.x];
  __syncthreads();
  for (int row = 0; row < 32; ++row) y[row * 32 + threadIdx.x] = tile[threadIdx.x * 32 + row];
}"""


def recorded(kernel=SHARED, window=None, right="", wrong=""):
    if right:
        assert right in kernel.source
        kernel = kernel.with_changed_source(lambda source: source.replace(right, wrong, 1))
    return kernel.inspect(X, W, window=window or Window())


def played_tile(text=TILE, steps=200, first=0):
    x, y = torch.arange(1024.0), torch.zeros(1024)
    report = launch(text, 1, 32, x=x, y=y, window=Window(first=first, steps=steps))
    return report, play(report)


def data_of(html):
    """The frames that the page's script would show, as {row of labels or paths: its text}."""
    (raw,) = re.findall(r"data-frames='([^']*)'", html)
    data = json.loads(unescape(raw))
    names = [*data["texts_of"], *data["paths_of"], "doing", "under", "code"]
    return [
        dict(zip(names, (data["texts"][n] for n in row), strict=True)) for row in data["frames"]
    ]


def labels(frame, row):
    return frame[row].split("|")


def twin_of(html):
    return [unescape(re.sub("<[^>]*>", "", li)) for li in re.findall(r"<li.*?</li>", html)]


def test_a_frame_shows_each_lane_and_the_sectors():
    frame = data_of(play(recorded()).html)[0]
    assert frame["doing"] == "g" * 32
    assert labels(frame, "index") == [str(k) for k in range(32)]
    assert labels(frame, "value") == [str(k % 7) for k in range(32)]
    assert [number for number in labels(frame, "number") if number] == ["0", "1"]
    assert frame["lines"].count("M") == 32
    assert frame["under"] == "sectors of x, 32 bytes each"


def shuffles(report):
    frames = data_of(play(report).html)
    return [frame for frame in frames if frame["under"] == "what each lane gets"]


def test_another_offset_of_the_shuffle_changes_its_frames():
    right = shuffles(recorded())
    changed = shuffles(recorded(right="offset = WARP_SIZE / 2", wrong="offset = WARP_SIZE / 4"))
    assert [f["other"].count("M") for f in right] == [16, 24, 28, 30, 31]
    assert [f["other"].count("M") for f in changed] == [24, 28, 30, 31]
    held = [float(value) for value in labels(right[0], "value")]
    assert [float(value) for value in labels(right[0], "cell")] == held[16:] + held[16:]


def test_another_place_for_the_staged_x_changes_its_frames():
    report = recorded(right="x_shared[k] = k < K", wrong="x_shared[k ^ 1] = k < K")
    right, changed = (data_of(play(r).html)[1] for r in (recorded(), report))
    assert labels(right, "index")[:4] == ["0", "1", "2", "3"]
    assert labels(changed, "index")[:4] == ["1", "0", "3", "2"]


def test_a_barrier_removed_changes_the_frames_and_shows_the_race():
    right = data_of(play(recorded()).html)
    wrong = play(recorded(right="  __syncthreads();\n", wrong=""))
    frames = data_of(wrong.html)
    assert [f["doing"] for f in right].count("m" * 32) == 6
    assert [f["doing"] for f in frames].count("m" * 32) == 5
    assert "✗" not in "".join(f["wrong"] for f in right)
    assert labels(frames[1], "wrong") == ["✗"] * 32
    assert "WRONG: block (0, 0), thread 32 reads x_shared[0]" in twin_of(wrong.html)[1]
    assert "to the first fault" in wrong.html and "s.value=1" in wrong.html


def test_a_bank_conflict_shows_the_bank_and_the_cells_that_wait():
    report, player = played_tile()
    assert not report.findings
    frames = data_of(player.html)
    conflict = next(f for f in frames if "×32" in f["cell"])
    assert labels(conflict, "cell").index("×32") == 0
    assert conflict["waits"].count("M") == 31
    assert "cells for the banks: bank 0 has 32" in player.html
    padded = TILE.replace("row * 32 + threadIdx.x] = x", "row * 33 + threadIdx.x] = x")
    _, free = played_tile(padded.replace("threadIdx.x * 32 + row", "threadIdx.x * 33 + row"))
    assert not any("×" in f["cell"] or (f["served"] and f["waits"]) for f in data_of(free.html))


def test_the_line_of_each_step_is_marked():
    player = play(recorded())
    lines = [
        unescape(line) for line in re.findall(r'class="code"[^>]*>(.*?)\n', player.html, re.DOTALL)
    ]
    for step, frame in zip(recorded().record.steps, data_of(player.html), strict=True):
        shown = [lines[int(at)].split(maxsplit=1)[1].strip() for at in frame["code"].split(",")]
        calling = [recorded().record.lines[place].strip() for _, place in step.calls[1:]]
        assert shown == [step.code, *calling]


def test_the_first_frame_shows_without_a_script():
    player = play(recorded())
    frame = data_of(player.html)[0]
    for row in ("index", "value", "number"):
        shown = re.findall(rf'<text class="{row}"[^>]*>([^<]*)</text>', player.html)
        assert shown == labels(frame, row)
    for path in ("lines", "asked", "waits"):
        assert f'<path class="{path}" d="{frame[path]}"' in player.html
    assert "Step 0 (0–12), phase 1: all lanes load x, 2 bytes each: 2 sectors" in player.html


def test_the_page_needs_nothing_else():
    html = play(recorded()).html
    for word in ("http", "src=", "url(", "<script", "<style", "import ", " id="):
        assert word not in html


def test_two_players_in_a_page_share_no_name():
    html = play(recorded()).html + play(recorded()).html
    assert "getElementById" not in html and "document." not in html
    assert html.count("this.closest('.gemlite-play')") == 2 * 2  # previous, next
    assert html.count("this.closest(&#x27;.gemlite-play&#x27;)") == 2  # the slider


def test_it_can_be_read_aloud_and_played_by_keys():
    html = play(recorded()).html
    assert 'role="group" aria-label="gemv_a16w16_shared' in html
    assert html.count('aria-live="polite"') == 1
    for name in ("previous step", "next step", "step", "lines of the kernel"):
        assert f'aria-label="{name}"' in html
    assert "ArrowLeft" in html and "ArrowRight" in html


def test_the_text_says_what_the_frames_show():
    report = recorded()
    twin = twin_of(play(report).html)
    assert len(twin) == len(report.record.steps)
    for words, step in zip(twin, report.record.steps, strict=True):
        frame = frame_of(step)
        assert f"Step {step.number} " in words
        if step.name:
            shown = [label for label in frame.index if label]
            assert f"elements of {step.name}: " in words
            assert shown[0] in words and shown[-1] in words
        if step.taken:
            assert f"gets: {', '.join(frame.cell)}" in words
        if step.space == "global":
            assert f"sectors: {', '.join(label for label in frame.number if label)}" in words


def test_a_shuffle_is_put_into_words():
    words = {
        "__shfl_down_sync(~0u, v, 4)": "take in a shuffle the value of the lane 4 further up",
        "__shfl_up_sync(~0u, v, 2)": "the value of the lane 2 further down",
        "__shfl_sync(~0u, v, 3)": "the value of lane 3",
        "__shfl_xor_sync(~0u, v, 1)": "the value of another lane",
    }
    for call, said in words.items():
        text = (
            f"__global__ void one(float* y) {{ float v = threadIdx.x; y[threadIdx.x] = {call}; }}"
        )
        report = launch(text, 1, 32, y=torch.zeros(32), window=Window())
        assert heading(report.record.steps[0]).endswith(said)


def test_every_kind_of_lane_has_a_name():
    letters = {letter for step in recorded().record.steps for letter in frame_of(step).doing}
    assert letters <= set(KINDS)


def test_a_scene_is_small():
    _, player = played_tile()
    assert player.steps == 129
    assert len(player.html.encode()) < MOST_BYTES


def test_a_scene_that_would_be_large_is_refused():
    report, _ = played_tile()
    many = SimpleNamespace(
        record=report.record.__class__(**{**vars(report.record), "steps": report.record.steps * 5}),
        findings=(),
    )
    with pytest.raises(ValueError, match=r"645 steps takes .* more than 150,000: record fewer"):
        play(many)


def test_a_fault_outside_the_window_is_announced():
    _, player = played_tile(TILE.replace("tile[threadIdx.x * 32", "tile[threadIdx.x * 320"), 3)
    assert "The first fault of this warp is at step 65" in player.html


def test_a_fault_of_another_warp_is_announced():
    change = "if (n == 1) y[5] = 0;\n  float sum"
    player = play(recorded(right="float sum", wrong=change))
    assert "Another warp is at fault: block (0, 0), thread 32 writes y[5]" in player.html


def test_a_report_without_steps_is_refused():
    with pytest.raises(ValueError, match="call inspect with window=Window"):
        play(SHARED.inspect(X, W))
    with pytest.raises(ValueError, match="warp 0 made 13 steps, and the window begins at step 50"):
        play(recorded(window=Window(first=50)))


def test_jupyter_shows_the_page():
    player = play(recorded())
    assert player._repr_html_() == player.html
    assert repr(player).endswith("block 0, warp 0', 13 steps)")


def test_the_legend_names_only_what_the_scene_has():
    everything = play(recorded()).html
    assert "empty: take no part" in everything and "dashed" not in everything
    one = play(recorded(window=Window(steps=1))).html
    assert "load from global memory" in one and "bytes asked for" in one
    for absent in ("empty", "store to", "its bank delivers"):
        assert absent not in one.partition("Lanes, with")[2].partition("<pre")[0]
