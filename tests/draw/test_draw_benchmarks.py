from itertools import pairwise

import pytest
from matplotlib.collections import LineCollection, PathCollection
from measured_rows import measured

from gemlite_lab import draw
from gemlite_lab.draw import bars, benchmarks
from gemlite_lab.draw.measured import colors, looks, microseconds

pytestmark = pytest.mark.usefixtures("shown")

FUNCTIONS = {
    "roofline": draw.roofline,
    "time_against_M": draw.time_against_M,
    "fraction_of_limit": draw.fraction_of_limit,
    "ladder": lambda rows: draw.ladder(rows, ["slow", "fast"]),
}
TWO = [measured("slow", 400.0), measured("fast", 125.0)]


@pytest.fixture
def drawn(monkeypatch):
    """The figures, before they become PNGs."""
    figures = []
    for module in (bars, benchmarks):
        show = module.display_png
        monkeypatch.setattr(
            module,
            "display_png",
            lambda figure, *text, show=show: (figures.append(figure), show(figure, *text)),
        )
    return figures


@pytest.fixture
def printed(capsys):
    return lambda: capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_shows_one_picture_and_prints_narrow_text(name, shown, printed):
    FUNCTIONS[name](TWO)
    assert len(shown) == 1
    assert max(map(len, printed())) <= 100


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_that_cannot_be_drawn_are_refused(name, shown):
    with pytest.raises(ValueError, match="^none of the rows has a time: there is nothing to draw$"):
        FUNCTIONS[name]([])
    with pytest.raises(ValueError, match="^none of the rows has a time"):
        FUNCTIONS[name]([measured("slow", 0.0, refused="out of memory")])
    mixed = [*TWO, measured("slow", 1.0, device="Other")]
    with pytest.raises(ValueError, match="^the rows are of 2 devices, Card, Other: draw those of"):
        FUNCTIONS[name](mixed)
    assert not shown


def test_the_newest_row_is_drawn(printed):
    draw.ladder([measured("slow", 1.0), *TWO], ["slow"])
    assert "400.0" in printed()[2]


def test_the_roofline_as_text(printed, shown):
    # M * 200,000 operations on 100 MB; the roofs meet at 50 operations per byte, M = 25,000.
    rows = [measured("fast", 125.0, M=5000), measured("fast", 200.0, M=25_000)]
    rows.append(measured("slow", 400.0, M=25_000, weights="W16"))
    draw.roofline(rows)
    assert printed() == [
        "roofs: 1,000 GB/s of reads, 50 TFLOP/s of fp16 products",
        "kernel             N x K      M  operations/byte  TFLOP/s  of the roof",
        "fast W4 g128  100 x 1000   5000               10        8          80%",
        "fast W4 g128  100 x 1000  25000               50       25          50%",
        "slow W16      100 x 1000  25000               50     12.5          25%",
    ]
    assert shown[0].alt == "Card: roofline: 3 points under roofs of 1,000 GB/s and 50 TFLOP/s"


def test_a_roofline_has_the_title_given(shown):
    draw.roofline(TWO, title="Mine")
    assert shown[0].alt == "Mine: 2 points under roofs of 1,000 GB/s and 50 TFLOP/s"


def crossing():
    times = {
        ("mine", "W4 g128"): {1: 5.0, 16: 6.0, 64: 12.0},
        ("peer", "W4 g128"): {1: 6.0, 16: 8.0, 64: 9.0, 256: 40.0},
        ("cublas_fp16", "W16"): {1: 13.0, 64: 13.0, 256: 20.0, 1024: 1250.0},
    }
    for (kernel, weights), line in times.items():
        yield from (measured(kernel, us, M=M, weights=weights) for M, us in line.items())


def test_kernels_that_were_asked_for_and_not_recorded_are_named(printed, shown):
    refused = measured("refused", 0.0, refused="out of memory")
    draw.time_against_M([*TWO, refused], kernels=["absent", "fast", "refused"])
    lines = printed()
    assert lines[0] == "not recorded: absent, refused"
    assert lines[3].startswith("fast ")
    assert not any(line.startswith("slow") for line in lines)


def test_the_time_against_M_as_text(printed, shown):
    slower = measured("mine", 5.0, M=4, p20_us=4.5, p80_us=6.0)
    draw.time_against_M([*crossing(), slower])
    sentences = [
        "mine W4 g128 is the fastest from M = 1 to 16",
        "peer W4 g128 is the fastest at M = 64",
        "cublas_fp16 W16 is the fastest at M = 256",
        "only one line was measured at M = 4, 1024",
    ]
    assert printed() == [
        "median µs of a call",
        "kernel           M = 1  M = 4  M = 16  M = 64  M = 256  M = 1024",
        "mine W4 g128       5.0    5.0     6.0    12.0        -         -",
        "peer W4 g128       6.0      -     8.0     9.0     40.0         -",
        "cublas_fp16 W16   13.0      -       -    13.0     20.0   1,250.0",
        "p20 to p80 spans 30.0% of p50 at most: mine W4 g128 at M = 4",
        *sentences,
    ]
    title = "Card: time of N x K = 100 x 1000 over the batch M"
    assert shown[0].alt == f"{title}. {'. '.join(sentences)}."


@pytest.mark.parametrize("batches, where", [([1], "at M = 1"), ([1, 16, 64], "from M = 1 to 64")])
def test_without_a_crossover_one_is_the_fastest_throughout(batches, where, printed):
    times = {"fast": 5.0, "slow": 6.0}
    draw.time_against_M([measured(name, times[name], M=M) for name in times for M in batches])
    assert printed()[-1] == f"fast W4 g128 is the fastest {where}"


def test_the_last_stretch_ends_at_the_last_batch_compared(printed):
    times = {("fast", 1): 5.0, ("slow", 1): 6.0, ("slow", 256): 8.0, ("fast", 256): 9.0}
    times |= {("slow", 4096): 80.0, ("fast", 4096): 90.0, ("slow", 8192): 160.0}
    draw.time_against_M([measured(name, us, M=M) for (name, M), us in times.items()])
    assert printed()[-3:] == [
        "fast W4 g128 is the fastest at M = 1",
        "slow W4 g128 is the fastest from M = 256 to 4096",
        "only one line was measured at M = 8192",
    ]


def test_a_kernel_measured_alone_is_not_the_fastest(printed, drawn):
    rows = [measured("fast", 5.0), measured("slow", 50.0, M=4), measured("fast", 6.0, M=16)]
    draw.time_against_M(rows)
    assert printed()[-1] == "only one line was measured at M = 1, 4, 16"
    assert [line.get_label() for line in drawn[0].legends[0].legend_handles] == [
        "fast W4 g128",
        "slow W4 g128",
    ]
    assert len(drawn[0].axes[0].lines) == 2


def test_a_wide_table_goes_on_below(printed):
    draw.time_against_M([measured("k" * 40, 5.0, M=2**i) for i in range(13)])
    out = printed()
    assert max(map(len, out)) <= 100
    assert [line.split()[0] for line in out[1:7]] == ["kernel", "k" * 40] * 3
    assert [out[i].split("M = ")[-1] for i in (1, 3, 5)] == ["64", "2048", "4096"]


def test_times_of_several_shapes_are_refused(shown):
    with pytest.raises(ValueError, match="^the rows are of the N x K 100 x 1000, 7 x 1000: draw"):
        draw.time_against_M([*TWO, measured("slow", 1.0, N=7)])
    assert not shown


def test_both_directions_are_lines_of_their_own(printed):
    draw.time_against_M([measured("mm", 5.0), measured("mm", 7.0, transposed=True)])
    out = printed()
    assert out[2].split() == ["mm", "W4", "g128", "5.0"]
    assert out[3].split() == ["mm", "W4", "g128", "transposed", "7.0"]


def test_the_fraction_of_the_limit_as_text(printed, shown):
    draw.fraction_of_limit([*TWO, measured("fast", 200.0, M=4), measured("third", 100.0)])
    assert printed() == [
        "kernel              N x K  M   GB/s  of the limit",
        "slow W4 g128   100 x 1000  1    250           25%",
        "fast W4 g128   100 x 1000  1    800           80%",
        "third W4 g128  100 x 1000  1  1,000          100%",
        "fast W4 g128   100 x 1000  4    500           50%",
    ]
    assert shown[0].alt == (
        "Card: part of the read bandwidth, 1,000 GB/s: 4 bars in 2 shapes, with a line at 100%"
    )


def test_the_ladder_as_text(printed, shown):
    rows = [*TWO, measured("middle", 160.0, weights="W16", bytes=80_000_000)]
    draw.ladder(rows, ["slow", "middle", "fast"])
    assert printed() == [
        "Card: N x K = 100 x 1000, M = 1",
        "kernel           µs  times faster  limit µs  of the limit",
        "slow W4 g128  400.0             -     100.0           25%",
        "middle W16    160.0          2.50      80.0           50%",
        "fast W4 g128  125.0          1.28     100.0           80%",
    ]
    assert shown[0].alt == (
        "Card: N x K = 100 x 1000, M = 1: a ladder of 3 kernels, "
        "from slow W4 g128, 400.0 µs to fast W4 g128, 125.0 µs"
    )


def test_a_ladder_beside_a_peer_as_text(printed, shown):
    rungs = [*TWO, measured("worse", 250.0), measured("better", 110.0)]
    draw.ladder(rungs, ["slow", "fast", "worse", "better"], peer=measured("peer", 120.0))
    assert printed()[2:] == [
        "slow W4 g128    400.0             -     100.0           25%",
        "fast W4 g128    125.0          3.20     100.0           80%",
        "worse W4 g128   250.0          0.50     100.0           40%",
        "better W4 g128  110.0          1.14     100.0           91%",
        "beside them: peer W4 g128, 120.0 µs",
    ]
    assert shown[0].alt.endswith("to better W4 g128, 110.0 µs; beside them peer W4 g128, 120.0 µs")
    with pytest.raises(ValueError, match="^the rows are of 2 problems, .*, M = 1; .*, M = 4: draw"):
        draw.ladder(TWO, ["slow"], peer=measured("peer", 120.0, M=4))


def test_a_rung_slower_than_one_before_has_another_colour(drawn):
    rungs = [measured(name, us) for name, us in {"a": 400.0, "b": 200.0, "c": 300.0}.items()]
    draw.ladder(rungs, ["a", "b", "c"], peer=measured("peer", 120.0))
    a, b, c = (dot.get_facecolor().tolist() for dot in dots(drawn[0]))
    assert a == b != c
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == [
        "time",
        "slower than one before it",
        "limit: its bytes at the read bandwidth measured",
        "peer W4 g128",
    ]
    assert drawn[0].axes[0].lines[0].get_xdata() == [120.0, 120.0]


def test_rungs_of_ones_own_have_a_colour_and_a_line_from_p20_to_p80(drawn):
    rungs = [*TWO, measured("mine", 300.0, p20_us=200.0, p80_us=500.0)]
    draw.ladder(rungs, ["slow", "fast", "mine"], own={"mine"}, title="Mine and theirs")
    axes = drawn[0].axes[0]
    slow, fast, mine = (dot.get_facecolor().tolist() for dot in dots(drawn[0]))
    assert slow == fast != mine and axes.get_title() == "Mine and theirs, W4 g128"
    lines = [found for found in axes.collections if isinstance(found, LineCollection)]
    assert [[200, 2], [500, 2]] in [line.get_segments()[0].tolist() for line in lines]
    assert axes.get_xlim()[1] > 500
    assert "yours" in [text.get_text() for text in drawn[0].legends[0].get_texts()]


def test_numbers_below_a_long_ladder_do_not_touch(drawn):
    draw.ladder([*TWO, measured("far", 90_000.0)], ["far", "slow", "fast"])
    axes = drawn[0].axes[0]
    drawn[0].draw_without_rendering()
    left, right = axes.get_xlim()
    ticks = axes.xaxis.get_major_ticks()
    shown = [t.label1.get_window_extent() for t in ticks if left <= t.get_loc() <= right]
    assert all(a.x1 < b.x0 for a, b in pairwise(shown))


def test_rungs_that_are_not_one_row_of_one_problem_are_refused(shown):
    with pytest.raises(
        ValueError, match="^none must have 1 row, got 0: the rows are of slow, fast$"
    ):
        draw.ladder(TWO, ["slow", "none"])
    twice = (
        "^slow must have 1 row, got 2: W4 g128, N x K = 100 x 1000, M = 1; "
        "W16, N x K = 100 x 1000, M = 1$"
    )
    with pytest.raises(ValueError, match=twice):
        draw.ladder([*TWO, measured("slow", 1.0, weights="W16")], ["slow"])
    with pytest.raises(
        ValueError, match="^the rows are of 2 problems, N x K = 100 x 1000, M = 1; N.*, M = 4: draw"
    ):
        draw.ladder([*TWO, measured("other", 1.0, M=4)], ["slow", "other"])
    directions = (
        "2 problems, N x K = 100 x 1000, M = 1; N x K = 100 x 1000, M = 1, transposed: draw"
    )
    with pytest.raises(ValueError, match=directions):
        draw.ladder([*TWO, measured("other", 1.0, transposed=True)], ["slow", "other"])
    with pytest.raises(ValueError, match="^order names no kernel: there is nothing to draw$"):
        draw.ladder(TWO, [])
    assert not shown


def kernels(count):
    return [measured(f"kernel {i}", 1.0) for i in range(count)]


def test_many_kernels_differ_by_more_than_their_colour():
    styles = looks(kernels(42)).values()
    without_colour = {(style["marker"], style["linestyle"]) for style in styles}
    assert len(without_colour) == 42
    assert len({style["color"] for style in styles}) == 8


def test_more_lines_than_looks_are_refused(shown, printed):
    for function in (draw.roofline, draw.time_against_M):
        with pytest.raises(ValueError, match="^43 lines cannot be told apart: draw at most 42$"):
            function(kernels(43))
    assert not shown and not printed()
    assert len(colors(kernels(43))) == 43, "bars have their names beside them"


@pytest.mark.parametrize(
    ("time", "text"),
    [(0.04, "0.04"), (0.0123, "0.0123"), (0.7654, "0.765"), (1.0, "1.0"), (1234.56, "1,234.6")],
)
def test_short_times_keep_their_digits(time, text):
    assert microseconds(time) == text


# ---- what is drawn


def points_of(line):
    return list(zip(*line.get_data(), strict=True))


def test_lines_of_times_are_medians_in_the_order_of_M(drawn):
    rows = [measured("fast", 10.0 * M, M=M, p20_us=M, p80_us=20.0 * M) for M in (16, 1, 4)]
    rows += [measured("slow", 50.0, M=M) for M in (16, 1, 4)]
    draw.time_against_M(rows)
    axes = drawn[0].axes[0]
    grey, fast, slow = axes.lines
    assert points_of(fast) == [(1, 10.0), (4, 40.0), (16, 160.0)]
    assert points_of(slow) == [(1, 50.0), (4, 50.0), (16, 50.0)]
    assert points_of(grey) == [(1, 10.0), (4, 40.0), (16, 50.0)]
    band = axes.collections[0].get_paths()[0].vertices.tolist()
    assert {(1, 1), (1, 20), (4, 4), (4, 80), (16, 16), (16, 320)} <= set(map(tuple, band))


def test_lines_have_the_colours_of_the_legend(drawn):
    rows = [measured(name, 10.0, M=M) for name in ("a", "b", "c") for M in (1, 4)]
    for function, lines in [(draw.roofline, slice(1, None)), (draw.time_against_M, slice(1, None))]:
        function(rows)
        figure = drawn.pop()
        found = [line.get_color() for line in figure.axes[0].lines[lines]]
        assert found == list(colors(rows).values()) and len(set(found)) == 3
        assert [line.get_color() for line in figure.legends[0].legend_handles][:3] == found


def test_a_roofline_has_operations_per_byte_across_and_tflops_up(drawn):
    rows = [measured("fast", 200.0, M=25_000), measured("fast", 125.0, M=5000)]
    draw.roofline(rows)
    roofs, line = drawn[0].axes[0].lines
    assert points_of(line) == [(10, 8), (50, 25)]
    (left, low), ridge, (right, high) = points_of(roofs)
    assert ridge == (50, 50) and high == 50
    assert (left, low) == (5, 5) and right > 50


def test_a_bar_is_as_long_as_the_part_of_the_limit(drawn):
    draw.fraction_of_limit(TWO)
    slow, fast = drawn[0].axes[0].patches
    assert (slow.get_x(), slow.get_width()) == (0, 0.25)
    assert (fast.get_x(), fast.get_width()) == (0, 0.8)
    assert slow.get_facecolor() != fast.get_facecolor()


def dots(figure):
    return [found for found in figure.axes[0].collections if isinstance(found, PathCollection)]


def test_a_rung_has_a_dot_at_its_time_and_a_mark_at_its_limit(drawn):
    draw.ladder(
        [*TWO, measured("other", 160.0, weights="W16", bytes=80_000_000)], ["slow", "other"]
    )
    assert [dot.get_offsets().tolist() for dot in dots(drawn[0])] == [[[400, 0]], [[160, 1]]]
    marks = [found for found in drawn[0].axes[0].collections if isinstance(found, LineCollection)]
    assert [mark.get_segments()[0][0][0] for mark in marks] == [100, 80]


def test_the_numbers_of_a_ladder_stand_beside_its_lines(drawn):
    draw.ladder(TWO, ["slow", "fast"], peer=measured("peer", 500.0))
    axes = drawn[0].axes[0]
    drawn[0].draw_without_rendering()
    for text, told in zip(
        axes.texts, ("400.0 µs, 25%", "125.0 µs, 80%", "of the limit"), strict=True
    ):
        assert text.get_text().startswith(told)
        assert text.get_window_extent().x0 > axes.get_window_extent().x1


def test_rungs_of_one_format_name_it_once(drawn):
    draw.ladder(TWO, ["slow", "fast"])
    draw.ladder([*TWO, measured("half", 500.0, weights="W16")], ["half", "fast"])
    of_one, of_two = (figure.axes[0] for figure in drawn)
    assert of_one.get_title().endswith(", W4 g128") and "W4" not in of_two.get_title()
    names = [[label.get_text() for label in axes.get_yticklabels()] for axes in (of_one, of_two)]
    assert names == [["slow", "fast"], ["half W16", "fast W4 g128"]]
