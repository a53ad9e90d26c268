"""Matrix operations of a warp under the instruments: what they count, and what is wrong."""

import pytest
import torch
from test_fragments import BEGIN, fragments
from test_safety_findings import assert_only_place, assert_race, place

from gemlite_edu.kernels.errors import KernelFault

ABC = fragments(16, 16) + "\nwmma::fill_fragment(a, 1); wmma::fill_fragment(b, 1);"
ABC += " wmma::fill_fragment(c, 1);\n"
STORE = "wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);"
ALL = {"x": torch.ones(512, dtype=torch.int8), "y": torch.zeros(256, dtype=torch.int32)}
ALL |= {"threads": 32, "before": BEGIN}


def counts(report, name, op="load"):
    """(bytes per lane, requests, sectors or wavefronts) of one line."""
    (line,) = report.of(name, op)
    return line.bytes_per_lane, line.requests, line.cost


def test_each_lane_moves_its_own_elements(inspect):
    report, _ = inspect(
        f"{ABC}wmma::load_matrix_sync(a, x, 16);\nwmma::load_matrix_sync(b, x + 256, 16);\n"
        f"wmma::mma_sync(c, a, b, c);\n{STORE}",
        **ALL,
    )
    assert report.findings == () and report.notes == ()
    assert report.y.tolist() == [17] * 256
    # Eight rows of 16 bytes are 4 sectors, twice for 16 rows; a row of 8 int is one sector.
    assert [(line.requests, line.cost) for line in report.of("x")] == [(2, 8), (2, 8)]
    assert counts(report, "y", "store") == (8, 4, 4 * 8)
    assert report.of("x")[0].first.bytes_of == {lane: 4 * lane for lane in range(32)}
    assert report.phases[0].requests == ((4, 4, 0, 0),)


def test_columns_across_a_lane_are_moved_byte_by_byte(inspect):
    load = "wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::col_major> d;\n"
    report, _ = inspect(f"{ABC}{load}wmma::load_matrix_sync(d, x, 16);\n{STORE}", **ALL)
    # Of each of 4 columns, 16 bytes apart in 64, 8 bytes: two sectors a request.
    assert counts(report, "x") == (1, 8, 8 * 4)


@pytest.mark.parametrize("ldm, wavefronts", [(16, 2), (128, 16), (144, 2)])
def test_rows_in_the_same_banks_of_shared_memory_conflict(inspect, ldm, wavefronts):
    report, _ = inspect(
        f"{ABC}__shared__ __align__(128) signed char s[16 * 144];\n"
        "for (int i = t; i < 16 * 144; i += 32) s[i] = 1;\n__syncwarp();\n"
        f"wmma::load_matrix_sync(a, s, {ldm});\nwmma::mma_sync(c, a, b, c);\n{STORE}",
        **ALL,
    )
    assert report.findings == () and counts(report, "s") == (4, 2, wavefronts)


NOT_TOGETHER = {
    "in an if": (
        "if (t < 12)\n  wmma::mma_sync(c, a, b, c); // HERE\n",
        "lane 0 waits for ever at mma_sync, a matrix operation of the whole warp, that lanes 12-31 "
        "never make",
    ),
    "one lane ended": (
        "if (t == 5) return;\nwmma::load_matrix_sync(a, x, 16); // HERE\n",
        "waits for ever at load_matrix_sync, a matrix operation of the whole warp, that lane 5 "
        "never makes",
    ),
    "others wait at a barrier": (
        "if (t > 3)\n  __syncthreads();\nelse\n  wmma::load_matrix_sync(a, x, 16); // HERE\n",
        "that lanes 4-31 never make, waiting at a __syncthreads; is it inside an if?",
    ),
}


@pytest.mark.parametrize("statements, sentence", NOT_TOGETHER.values(), ids=NOT_TOGETHER)
def test_a_matrix_operation_without_the_whole_warp(inspect, statements, sentence):
    inspected = inspect(f"{ABC}{statements}{STORE}", **ALL)
    assert_only_place(inspected, [])
    assert sentence in inspected[0].findings[0].sentence


def test_lanes_in_two_branches_do_not_meet(inspect):
    report, text = inspect(
        f"{ABC}if (t % 2)\n  wmma::mma_sync(c, a, b, c); // HERE\nelse {{\n  c.x[0] = 5;\n"
        f"  wmma::mma_sync(c, a, b, c); // THERE\n}}\n{STORE}",
        **ALL,
    )
    assert report.findings[0].place in (place(text), place(text, "THERE"))
    assert "waits for ever at mma_sync" in report.findings[0].sentence


WRONG = {
    "part of a warp": (
        "wmma::load_matrix_sync(a, x, 16); // HERE\n",
        "thread 32 calls load_matrix_sync in a warp of 8 lanes, and a matrix operation takes all",
        {"threads": 40},
    ),
    "an address of each lane": (
        "wmma::load_matrix_sync(a, x + 32 * (t / 4), 16); // HERE\n",
        "thread 4 calls load_matrix_sync with another address than lane 0 of its warp",
    ),
    "an ldm of each lane": (
        "wmma::load_matrix_sync(a, x, t == 9 ? 32 : 16); // HERE\n",
        "thread 9 calls load_matrix_sync with ldm = 32, and lane 0 of its warp with another",
    ),
    "a layout of each lane": (
        "wmma::store_matrix_sync(y, c, 16, t < 31 ? wmma::mem_row_major : wmma::mem_col_major);"
        " // HERE\n",
        "thread 31 calls store_matrix_sync with another layout than lane 0 of its warp",
    ),
    "misaligned": (
        "wmma::load_matrix_sync(a, x + 16, 16); // HERE\n",
        "with an address that lies 16 bytes behind a multiple of 32",
    ),
    "misaligned store": (
        "wmma::store_matrix_sync(y + 12, c, 16, wmma::mem_row_major); // HERE\n",
        "store_matrix_sync with an address that lies 16 bytes behind a multiple of 32",
    ),
    "ldm of bytes": (
        "wmma::load_matrix_sync(a, x, 24); // HERE\n",
        "with ldm = 24: rows, or columns, must lie a multiple of 16 bytes apart",
    ),
    "ldm of int": (
        "wmma::store_matrix_sync(y, c, 18, wmma::mem_row_major); // HERE\n",
        "with ldm = 18: rows, or columns, must lie a multiple of 16 bytes apart",
    ),
}


@pytest.mark.parametrize(
    "statements, sentence, options",
    [(*case, {}) if len(case) == 2 else case for case in WRONG.values()],
    ids=WRONG,
)
def test_a_wrong_call_is_one_sentence_at_its_line(inspect, statements, sentence, options):
    inspected = inspect(f"{ABC}{statements}{STORE}", **ALL | options)
    assert_only_place(inspected, [])
    assert sentence in inspected[0].findings[0].sentence


def test_a_plain_run_says_it_too(launch):
    text = f"{BEGIN}__global__ void kernel(int* y) {{{ABC}wmma::mma_sync(c, a, b, c);"
    outputs = {"y": torch.zeros(256, dtype=torch.int32)}
    with pytest.raises(KernelFault, match="thread 0 calls store_matrix_sync with ldm = 17: rows"):
        launch(f"{text}\nwmma::store_matrix_sync(y, c, 17, wmma::mem_row_major); }}", outputs)
    with pytest.raises(KernelFault, match="lane 0 waits for ever at store_matrix_sync, a"):
        launch(f"{text}\nif (threadIdx.x < 16) {STORE} }}", outputs)


OUTSIDE = {
    "load": ("wmma::load_matrix_sync(a, x + 352, 16); // HERE\n", ["x[512]", "thread 8"]),
    "store": (
        "wmma::store_matrix_sync(y + 8, c, 16, wmma::mem_row_major); // HERE\n",
        ["y[256]", "thread 28"],
    ),
    "shared": (
        "__shared__ __align__(128) int s[240];\n"
        "wmma::store_matrix_sync(s, c, 16, wmma::mem_row_major); // HERE\n",
        ["s", "thread 28"],
    ),
}


@pytest.mark.parametrize("statements, words", OUTSIDE.values(), ids=OUTSIDE)
def test_a_matrix_that_ends_outside(inspect, statements, words):
    assert_only_place(inspect(f"{ABC}{statements}{STORE}", **ALL), words)


SHARED = "__shared__ __align__(128) int s[256];\n"


def test_a_stored_matrix_is_read_by_others_only_behind_a_barrier(inspect):
    store = "wmma::store_matrix_sync(s, c, 16, wmma::mem_row_major); // HERE\n"
    read = "for (int i = 0; i < 8; ++i)\n  y[32 * i + t] = s[255 - 32 * i - t]; // THERE\n"
    inspected = inspect(f"{ABC}{SHARED}{store}{read}", **ALL)
    assert_race(inspected, "s", lambda a, b: a != b)
    report, _ = inspect(f"{ABC}{SHARED}{store}__syncwarp();\n{read}", **ALL)
    assert report.findings == () and report.y.tolist() == [1] * 256


def test_an_unwritten_matrix_is_found(inspect):
    load = "wmma::load_matrix_sync(c, s, 16, wmma::mem_row_major); // HERE\n"
    assert_only_place(inspect(f"{ABC}{SHARED}{load}{STORE}", **ALL), ["thread 0", "s[0]"])
