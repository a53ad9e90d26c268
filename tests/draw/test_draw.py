import pytest
import torch

from gemlite_edu import load, pack_warped_int32, quantize_linear
from gemlite_edu.packing import WarpInterleaved
from gemlite_edu.runners import simulator
from gemlite_edu.runners.simulator.report import Phase, Report
from gemlite_lab import draw
from gemlite_lab.draw import formats, reports
from gemlite_lab.draw.requests import BankPicture, SectorPicture

pytestmark = pytest.mark.usefixtures("shown")

TILE = """
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ float tile[32 * WIDTH];
  const int lane = threadIdx.x;
  for (int row = 0; row < 32; ++row) tile[row * WIDTH + lane] = x[32 * row + lane];
  __syncthreads();
  for (int row = 0; row < 32; ++row) y[32 * row + lane] = tile[lane * WIDTH + row];
}
"""
VECTOR = """
extern "C" __global__ void kernel(const VECTOR* x, VECTOR* y) {
  __shared__ VECTOR tile[64];
  if (threadIdx.x >= FIRST) tile[INDEX] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= FIRST) y[threadIdx.x] = tile[INDEX];
}
"""
TAIL = """
extern "C" __global__ void kernel(const float* x, float* y) {
  if (threadIdx.x < 17) y[threadIdx.x] = x[threadIdx.x];
}
"""
TWO_LINES = """
extern "C" __global__ void kernel(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] += x[threadIdx.x + 1];
  y[threadIdx.x] += x[8 * threadIdx.x];
}
"""
ONES = "[" + ", ".join(["1"] * 32) + "]"


def inspected(text, numel=1024, **words):
    """The report of a kernel of one warp, with `words` replaced in its text."""
    for word, value in words.items():
        text = text.replace(word, str(value))
    library = simulator.build_instrumented_kernel(text, "kernel", {})
    x, y = torch.arange(numel, dtype=torch.float32), torch.zeros(numel)
    arguments = [simulator.Tensor("x", x), simulator.Tensor("y", y, is_output=True)]
    return simulator.inspect_kernel(
        library, text, arguments, simulator.Launch((1, 1), 32), 5.0, "title"
    )


@pytest.fixture(scope="module")
def packaged():
    """{name: report} of kernels of the package, for 40 rows of W: the last block is not full."""
    x, W = torch.ones(1, 512).half(), torch.ones(40, 512).half()
    names = ["naive", "coalesced", "shared"]
    found = {name: load(f"gemv_a16w16_{name}").inspect(x, W) for name in names}
    quantized = quantize_linear(torch.arange(40 * 512.0).view(40, 512) % 97, nbits=4)
    words = pack_warped_int32(quantized.W_q, 4)
    kernel = load("gemv_a16wn_fp32", nbits=4)
    found["4 bits"] = kernel.inspect(x, words, quantized.scales, quantized.zeros)
    return found


@pytest.mark.parametrize("nbits", range(1, 9))
def test_a_word_lists_its_fields_from_the_top(nbits, capsys):
    draw.word(nbits, col=33)
    _, bits, k = capsys.readouterr().out.splitlines()
    assert bits.split()[1] == f"31-{32 - nbits}"
    codes = 32 // nbits
    assert k.split()[1:] == [str(32 * codes + 1 + 32 * j) for j in range(codes)]


def test_warp_words_lists_the_fields_and_the_codes_of_a_word(shown, capsys):
    draw.warp_words(8, word=2)
    assert capsys.readouterr().out.splitlines() == [
        "words 0 to 31 of a row, 8-bit",
        "bits 31-24: k = 0 to 31",
        "bits 23-16: k = 32 to 63",
        " bits 15-8: k = 64 to 95",
        "  bits 7-0: k = 96 to 127",
        "word 2: k = 2, 34, 66, 98",
    ]
    with pytest.raises(ValueError, match="^word must be from 0 to 31, got 32$"):
        draw.warp_words(8, word=32)
    assert len(shown) == 1


@pytest.mark.parametrize("nbits", [2, 3, 8])
def test_warp_words_draws_each_code_where_the_layout_has_it(nbits, monkeypatch):
    figures, layout = [], WarpInterleaved(nbits)
    monkeypatch.setattr(formats, "display_png", lambda figure, _: figures.append(figure))
    draw.warp_words(nbits)
    texts = figures[0].axes[0].texts
    assert len(texts) == layout.tile
    for text in texts:
        word, row = (int(place) for place in text.get_position())
        address = layout.locate(0, int(text.get_text()))
        assert (address.col, address.shift) == (word, 32 - nbits * (row + 1))


@pytest.mark.parametrize(
    "stride, bytes_each, base, expected",
    [
        (2, 2, 0, 2),
        (4, 4, 0, 4),
        (4, 4, 4, 5),
        (8, 4, 0, 8),
        (128, 4, 0, 32),
        (0, 4, 0, 1),
        (16, 16, 0, 16),
    ],
)
def test_sectors_are_the_32_byte_blocks_touched(stride, bytes_each, base, expected, capsys):
    assert (
        SectorPicture(
            dict(enumerate([base + stride * lane for lane in range(32)])), bytes_each
        ).cost
        == expected
    )


@pytest.mark.parametrize(
    "stride, bytes_each, expected",
    [(4, 4, 1), (8, 4, 2), (128, 4, 32), (132, 4, 1), (2, 2, 1), (0, 4, 1)],
)
def test_wavefronts_are_the_distinct_words_in_the_fullest_bank(
    stride, bytes_each, expected, capsys
):
    assert (
        BankPicture(dict(enumerate([stride * lane for lane in range(32)])), bytes_each, False).cost
        == expected
    )


def test_curves_and_histograms_print_their_numbers(capsys):
    draw.curves([4, 8], {"error": [0.5, 0.25]}, "bits", "error", "title")
    draw.histogram({"W": torch.arange(100.0)}, "value", "title")
    out = capsys.readouterr().out
    assert "0.5      0.25" in out
    assert "W: min 0, max 99, standard deviation 29" in out


@pytest.mark.parametrize(
    "stride, bytes_each, expected",
    [(8, 8, 2), (16, 16, 4), (16, 8, 4), (32, 16, 8), (0, 8, 1), (0, 16, 2)],
)
def test_wide_accesses_are_served_a_part_of_the_warp_at_a_time(stride, bytes_each, expected):
    assert (
        BankPicture(dict(enumerate([stride * lane for lane in range(32)])), bytes_each, False).cost
        == expected
    )


def test_neighbours_that_ask_for_the_same_are_served_together(capsys):
    assert BankPicture(dict(enumerate([lane // 2 * 8 for lane in range(32)])), 8, False).cost == 1
    assert (
        BankPicture(
            dict(enumerate([(lane // 4 * 2 + lane % 2) * 16 for lane in range(32)])), 16, False
        ).cost
        == 2
    )


def test_each_function_shows_one_picture(packaged, shown):
    calls = [
        (draw.word, 4),
        (draw.warp_words, 4),
        (draw.histogram, {"W": torch.arange(100.0)}, "value", "title"),
        (draw.curves, [4, 8], {"error": [0.5, 0.25]}, "bits", "error", "title"),
        (draw.request, packaged["naive"], "W"),
        (draw.request, packaged["shared"], "x_shared"),
        (draw.side_by_side, {name: packaged[name] for name in ("naive", "4 bits")}, "W"),
        (draw.timeline, packaged["shared"]),
        (draw.staging,),
        (draw.tile_banks, (32, 33)),
        (draw.shuffle_tree, range(8)),
    ]
    for number, (function, *arguments) in enumerate(calls, 1):
        function(*arguments)
        assert len(shown) == number


def test_show_prints_the_table(packaged, shown, capsys):
    draw.show(packaged["naive"])
    assert capsys.readouterr().out == f"{packaged['naive']}\n"
    assert not shown


def test_a_request_to_global_memory_says_what_it_moves(capsys):
    draw.request(inspected(TAIL), "x")
    assert capsys.readouterr().out.splitlines() == [
        "kernel.cpp:3: if (threadIdx.x < 17) y[threadIdx.x] = x[threadIdx.x];",
        "first load of x: block 0, warp 0, 17 of 32 lanes active, 4 bytes each",
        "17 lanes ask for 68 bytes: 3 sectors, 96 bytes moved",
    ]


@pytest.mark.parametrize(
    "width, expected",
    [(32, [f"[32{', 0' * 31}]", "32 wavefronts"]), (33, [ONES, "1 wavefront"])],
)
def test_a_request_to_shared_memory_says_what_each_bank_delivers(width, expected, capsys):
    draw.request(inspected(TILE, WIDTH=width), "tile", which="costliest")
    line, request, banks, wavefronts = capsys.readouterr().out.splitlines()
    assert line.startswith("kernel.cpp:7: for (int row = 0; row < 32; ++row) y[")
    assert request == (
        "costliest load of tile: block 0, warp 0, 32 of 32 lanes active, 4 bytes each"
    )
    assert [banks, wavefronts] == [f"distinct cells per bank: {expected[0]}", expected[1]]


def test_a_request_of_16_bytes_is_told_by_8_lanes(capsys):
    draw.request(inspected(VECTOR, 128, VECTOR="float4", FIRST=20, INDEX="2 * threadIdx.x"), "tile")
    _, _, *rest = capsys.readouterr().out.splitlines()
    lanes = [[1, 1, 1, 1, 0, 0, 0, 0] * 4, [2, 2, 2, 2, 0, 0, 0, 0] * 4]
    assert rest == [
        f"lanes 16 to 23, distinct cells per bank: {lanes[0]}",
        f"lanes 24 to 31, distinct cells per bank: {lanes[1]}",
        "3 wavefronts",
    ]


@pytest.mark.parametrize("which, sectors", [("first", 4), ("costliest", 32)])
def test_of_several_lines_the_first_or_the_costliest_is_drawn(which, sectors, capsys):
    draw.request(inspected(TWO_LINES), "x", which=which)
    assert f": {sectors} sectors, " in capsys.readouterr().out


def shared_requests(inspections):
    for report in inspections:
        for line in report.lines:
            if line.space == "shared":
                yield from ((report, line, which) for which in ("first", "costliest"))


def test_printed_wavefronts_are_those_of_the_report(packaged, capsys, monkeypatch):
    monkeypatch.setattr(reports, "draw_pictures", lambda *_: None)
    own = [inspected(TILE, WIDTH=width) for width in (32, 33, 36)]
    for vector, first, index in (
        ("float2", 5, "2 * threadIdx.x"),
        ("float4", 20, "2 * threadIdx.x"),
        ("float2", 0, "threadIdx.x / 2"),
        ("float4", 5, "threadIdx.x / 4 * 2 + threadIdx.x % 2"),
    ):
        own.append(inspected(VECTOR, 128, VECTOR=vector, FIRST=first, INDEX=index))
    cases = list(shared_requests([*packaged.values(), *own]))
    for report, line, which in cases:
        draw.request(report, line.name, line.op, which)
        cost = getattr(line, which).cost
        assert capsys.readouterr().out.splitlines()[-1].split()[0] == str(cost)


def test_printed_sectors_are_those_of_the_report(packaged, capsys, monkeypatch):
    monkeypatch.setattr(reports, "draw_pictures", lambda *_: None)
    for report in (*packaged.values(), inspected(TAIL)):
        for name, op in {(line.name, line.op) for line in report.lines if line.space == "global"}:
            draw.request(report, name, op, "costliest")
            cost = max(line.costliest.cost for line in report.of(name, op))
            assert f": {cost} sector" in capsys.readouterr().out


def test_side_by_side_prints_a_line_for_each_report(packaged, shown, capsys):
    draw.side_by_side({"naive": packaged["naive"], "4 bits": packaged["4 bits"]}, "W")
    assert capsys.readouterr().out.splitlines() == [
        "naive: 1,024 requests to load W, 20.00 sectors each, 655,360 bytes moved",
        "4 bits: 80 requests to load W, 4.00 sectors each, 10,240 bytes moved",
    ]
    assert shown[0].alt == (
        "first load of W: naive: 32 sectors of 32 bytes, 4 bits: 4 sectors of 32 bytes"
    )


def test_side_by_side_compares_wavefronts(capsys):
    tiles = {f"{width} wide": inspected(TILE, WIDTH=width) for width in (32, 33, 36)}
    draw.side_by_side(tiles, "tile")
    assert capsys.readouterr().out.splitlines() == [
        "32 wide: 32 requests to load tile, 32.00 wavefronts each, 1,024 wavefronts",
        "33 wide: 32 requests to load tile, 1.00 wavefronts each, 32 wavefronts",
        "36 wide: 32 requests to load tile, 4.00 wavefronts each, 128 wavefronts",
    ]


def test_requests_that_are_not_there_are_refused(packaged, shown):
    report = packaged["naive"]
    with pytest.raises(ValueError, match="^which must be 'first' or 'costliest', got 'last'$"):
        draw.request(report, "W", which="last")
    with pytest.raises(ValueError, match="there is no store of 'W' in this report"):
        draw.request(report, "W", op="store")
    for labels in ("", "a", "abcd"):
        message = f"^reports must be 2 or 3, as {{label: report}}, got {len(labels)}$"
        with pytest.raises(ValueError, match=message):
            draw.side_by_side(dict.fromkeys(labels, report), "W")
    shared = inspected(TILE.replace("tile", "W"), WIDTH=33)
    with pytest.raises(ValueError, match="^W is in global memory in one report and in shared"):
        draw.side_by_side({"a": report, "b": shared}, "W")
    assert not shown


def test_the_timeline_is_a_table_of_phases(capsys):
    draw.timeline(inspected(TILE, WIDTH=33))
    head = (
        "phase   global loads  shared stores   shared loads  global stores  warps active  ends at"
    )
    assert capsys.readouterr().out.splitlines() == [
        "block 0, requests added over its 1 warp",
        head,
        "    1             32             32              0              0             1  "
        "a barrier, kernel.cpp:6",
        "    2              0              0             32             32             1  "
        "the end of the kernel",
    ]


def test_the_timeline_shows_8_warps_and_says_of_how_many(packaged, capsys):
    draw.timeline(packaged["4 bits"])
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "block 0, requests added over its 32 warps"
    assert out[-1] == "The picture shows warps 0 to 7 of 32."


def of_phases(*phases):
    phases = tuple(Phase(place, requests) for place, requests in phases)
    return Report("title", (), (), tuple, phases, 0)


def test_the_timeline_of_many_phases_and_of_a_stopped_run(shown, capsys):
    work, idle = (1, 2, 3, 4), (0, 0, 0, 0)
    steps = [(f"kernel.cu:{10 + i % 3}", (work, idle)) for i in range(63)]
    draw.timeline(of_phases(*steps, ("", (idle, work))))
    _, _, *rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 64
    assert rows[1].split()[1:] == ["1", "4", "3", "2", "1", "a", "barrier,", "kernel.cu:11"]
    assert rows[63].endswith("  where the run was stopped")
    assert shown[0].alt == ("Requests of 2 warps of block 0 in 64 phases, from barrier to barrier")


@pytest.mark.parametrize("phases", [(), (("kernel.cu:3", ((0, 0, 0, 0),)),)])
def test_without_requests_there_is_no_timeline(phases, shown):
    with pytest.raises(ValueError, match="^block 0 made no request: there is nothing to draw$"):
        draw.timeline(of_phases(*phases))
    assert not shown


def test_the_banks_of_a_column(shown, capsys):
    draw.tile_banks((32, 33), rows=3, picked=1)
    assert capsys.readouterr().out.splitlines() == [
        "32 columns: column 1 of rows 0 to 2 is in banks [1, 1, 1]",
        "33 columns: column 1 of rows 0 to 2 is in banks [1, 2, 3]",
    ]
    with pytest.raises(ValueError, match="^column 32 is not in an array of 32 columns$"):
        draw.tile_banks((33, 32), picked=32)
    assert len(shown) == 1


def test_the_tree_ends_with_the_sum_in_lane_0(shown, capsys):
    draw.shuffle_tree([5, 6, 7, 8])
    assert capsys.readouterr().out.splitlines() == [
        "start    : lane 0 5, lane 1 6, lane 2 7, lane 3 8",
        "offset 2 : lane 0 12, lane 1 14",
        "offset 1 : lane 0 26",
    ]
    for values in ([], [1], range(12), range(32)):
        with pytest.raises(ValueError, match=f"2, 4, 8 or 16 lanes, got {len(values)} values"):
            draw.shuffle_tree(values)
    assert len(shown) == 1
