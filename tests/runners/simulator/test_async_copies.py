"""Asynchronous copies: they arrive when their lane waits, and whoever comes too early is named."""

import re

import pytest
import torch
from test_safety_findings import assert_only, assert_race, cases, place, says

from gemlite_edu.kernels.errors import KernelFault

X = torch.arange(256.0)
BEGIN = "#include <cuda_pipeline.h>"
ARRAYS = "__shared__ __align__(16) float a[256], b[256];\n"
COPY = "__pipeline_memcpy_async(a + 4 * t, x + 4 * t, 16); // HERE\n"
COMMIT, ALL_BUT = "__pipeline_commit();\n", "__pipeline_wait_prior({});\n".format
BARRIER = "__syncthreads();\n"
READ = "y[t] = a[255 - t]; // THERE"
T = torch.arange(64)


def body(*statements):
    return ARRAYS + "".join(statements)


RIGHT = {
    "16 bytes": (body(COPY, COMMIT, ALL_BUT(0), BARRIER, READ), 255.0 - T),
    "8 bytes": (
        body(
            "__pipeline_memcpy_async(a + 2 * t, x + 100 + 2 * t, 8);\n",
            COMMIT + ALL_BUT(0) + BARRIER,
            "y[t] = a[t ^ 32];",
        ),
        100.0 + (T ^ 32),
    ),
    "4 bytes, two batches waited for at once": (
        body(
            "__pipeline_memcpy_async(a + t, x + t, 4);\n" + COMMIT,
            "__pipeline_memcpy_async(b + t, x + 2 * t, 4);\n" + COMMIT,
            ALL_BUT(0) + BARRIER,
            "y[t] = a[63 - t] + b[t];",
        ),
        63.0 + T,
    ),
    "the older of two batches": (
        body(
            COPY + COMMIT,
            "__pipeline_memcpy_async(b + 4 * t, x, 16);\n" + COMMIT,
            ALL_BUT(1) + BARRIER + READ,
        ),
        255.0 - T,
    ),
    "own data without a barrier": (
        body(COPY, COMMIT, ALL_BUT(0), "y[t] = a[4 * t + 3];"),
        4.0 * T + 3,
    ),
    "__syncwarp within a warp": (
        body(COPY, COMMIT, ALL_BUT(0), "__syncwarp();\ny[t] = a[4 * (t ^ 1)];"),
        4.0 * (T ^ 1),
    ),
    "empty batches": (
        body(COPY, COMMIT, COMMIT, COMMIT, ALL_BUT(2), BARRIER, READ),
        255.0 - T,
    ),
    "the last bytes zero, also of nothing": (
        body(
            "__pipeline_memcpy_async(a + 4 * t, t < 63 ? x + 4 * t : x + 1001, 16, (t + 1) / 4);\n",
            COMMIT + ALL_BUT(0),
            "y[t] = a[4 * t] + a[4 * t + 1] + a[4 * t + 2] + a[4 * t + 3];",
        ),
        None,
    ),
    "two buffers": (
        body(
            "float sum = 0;\n__pipeline_memcpy_async(a + t, x + t, 4);\n" + COMMIT,
            "for (int i = 0; i < 4; ++i) {\n  float* now = i % 2 ? b : a;\n"
            "  float* next = i % 2 ? a : b;\n"
            "  if (i < 3) __pipeline_memcpy_async(next + t, x + 64 * (i + 1) + t, 4);\n",
            COMMIT + ALL_BUT(1) + BARRIER,
            "  sum += now[63 - t];\n" + BARRIER + "}\ny[t] = sum;",
        ),
        4 * (63.0 - T) + 64 * (1 + 2 + 3),
    ),
}


def expected_with_zeros():
    """Thread t copies all but the last (t + 1) // 4 of its 16 bytes."""
    blocks = X.reshape(64, 4).clone().view(torch.uint8).reshape(64, 16)
    for t in range(64):
        blocks[t, 16 - (t + 1) // 4 :] = 0
    first, second, third, fourth = blocks.view(torch.float32).T
    return first + second + third + fourth


@pytest.mark.parametrize("statements, expected", RIGHT.values(), ids=RIGHT)
def test_a_right_kernel_has_its_data_and_no_finding(inspect, statements, expected):
    report, _ = inspect(statements, x=X, before=BEGIN)
    expected = expected_with_zeros() if expected is None else expected
    assert report.findings == ()
    assert report.y.tolist() == expected.tolist()


LATE = "thread 63 (kernel.cpp, line 6) has not delivered yet: "
PENDING = {
    "no wait": (
        body(COPY, COMMIT, BARRIER, READ),
        LATE + "wait for it with __pipeline_wait_prior(0), then __syncthreads()",
    ),
    "no commit": (
        body(COPY, ALL_BUT(0), BARRIER, READ),
        LATE + "put it into a batch with __pipeline_commit(), "
        "wait for it with __pipeline_wait_prior(0), then __syncthreads()",
    ),
    "waits for one batch too few": (
        body(COPY, COMMIT, ALL_BUT(1), BARRIER, READ),
        LATE + "wait for it with __pipeline_wait_prior(0), then",
    ),
    "of several": (
        body(COPY, COMMIT, COMMIT, COMMIT, ALL_BUT(3), BARRIER, READ),
        LATE + "wait for it with __pipeline_wait_prior(2), then",
    ),
    "own": (
        body(COPY, COMMIT, "y[t] = a[4 * t]; // THERE"),
        "reads a[0], which the asynchronous copy of thread 0 (kernel.cpp, line 6) has not "
        "delivered yet: wait for it with __pipeline_wait_prior(0)",
    ),
    "over what was there": (
        body("a[255 - t] = 0;\n" + BARRIER + "// \n" + COPY, COMMIT, BARRIER, READ),
        "line 9) has not delivered yet",
    ),
    "a part of a vector": (
        body(
            COPY,
            COMMIT,
            "const float2 v = *(const float2*)(a + 4 * t + 2); y[t] = v.x + v.y; // THERE",
        ),
        "has not delivered yet",
    ),
    "a write": (
        body(COPY, COMMIT, "a[4 * t + 2] = 0; // THERE\n", ALL_BUT(0), "y[t] = 1;"),
        "thread 0 writes a[2] while the asynchronous copy of thread 0 (kernel.cpp, line 6) is "
        "still on its way there: wait for it with __pipeline_wait_prior(0)",
    ),
    "another copy": (
        body(
            COPY,
            COMMIT,
            "__pipeline_memcpy_async(a + 4 * t, x, 16); // THERE\n" + COMMIT + ALL_BUT(0),
            "y[t] = 1;",
        ),
        "thread 0 writes a[0] while the asynchronous copy of thread 0",
    ),
}


@pytest.mark.parametrize("statements, part", PENDING.values(), ids=PENDING)
def test_who_does_not_wait_for_a_copy_is_found_by_name(inspect, statements, part):
    report, text = inspect(statements, x=X, before=BEGIN)
    (finding,) = report.findings
    assert finding.place == place(text, "THERE") and part in finding.sentence, finding
    assert says(finding.sentence, "block (0, 0)")


@pytest.mark.parametrize("name", ["no wait", "no commit", "over what was there"])
def test_what_was_not_waited_for_is_nan_in_a_plain_run(launch, name):
    text = (
        f"{BEGIN}\n__global__ void kernel(const float* x, float* y) {{\n"
        f"const int t = threadIdx.x;\n{PENDING[name][0]}\n}}"
    )
    assert launch(text, {"y": torch.zeros(64)}, {"x": X}, threads=64).isnan().all()


def test_a_copy_ends_with_its_block(inspect):
    report, _ = inspect(
        body(
            "if (blockIdx.x == 0) {\n" + COPY + COMMIT + "}\nelse a[4 * t] = t;\n",
            "y[64 * blockIdx.x + t] = blockIdx.x ? a[4 * t] : 0;",
        ),
        x=X,
        y=torch.zeros(192),
        grid=(3, 1),
        before=BEGIN,
    )
    assert report.findings == () and report.y.tolist() == [0] * 64 + 2 * list(range(64))


RACES = {
    "no barrier behind the wait": (
        body(COPY, COMMIT, ALL_BUT(0), READ),
        lambda a, b: (255 - a) // 4 == b or (255 - b) // 4 == a,
    ),
    "no barrier within a warp": (
        body(COPY, COMMIT, ALL_BUT(0), "y[t] = a[4 * (t ^ 1)]; // THERE"),
        lambda a, b: a ^ b == 1,
    ),
    "the barrier before the wait": (
        body(COPY, COMMIT, BARRIER, ALL_BUT(0), "y[t] = a[4 * (t ^ 1)]; // THERE"),
        lambda a, b: a ^ b == 1,
    ),
    "over what others still read": (
        body(
            "a[t] = t;\n" + BARRIER + "float v = a[63 - t]; // THERE\n",
            "if (t < 16) __pipeline_memcpy_async(a + 4 * t, x + 4 * t, 16); // HERE\n",
            COMMIT + ALL_BUT(0) + "y[t] = v;",
        ),
        lambda a, b: (63 - a) // 4 == b or (63 - b) // 4 == a,
    ),
    "over what others still read, next trip of a loop": (
        body(
            "float sum = 0;\nfor (int i = 0; i < 3; ++i) {\n",
            "  __pipeline_memcpy_async(a + t, x + t + i, 4); // HERE\n",
            COMMIT + ALL_BUT(0) + BARRIER + "  sum += a[63 - t]; // THERE\n}\ny[t] = sum;",
        ),
        lambda a, b: a + b == 63,
    ),
    "nothing behind the copy": (
        body(COPY, COMMIT, "y[t] = a[4 * (t ^ 32)]; // THERE\n", ALL_BUT(0)),
        lambda a, b: a ^ b == 32,
    ),
    "two to one place": (
        body(
            "__pipeline_memcpy_async(a + 4 * (t / 2), x, 16); // HERE\n" + COMMIT + ALL_BUT(0),
            "y[t] = 1;",
        ),
        lambda a, b: a // 2 == b // 2,
    ),
}


@cases(RACES)
def test_a_copy_that_a_barrier_does_not_order_is_a_race(inspect, statements, words, options):
    assert_race(inspect(statements, x=X, before=BEGIN, **options), "a", words)


def test_a_wait_behind_the_barrier_is_too_late_for_other_warps(inspect):
    report, text = inspect(
        body(COPY, COMMIT, BARRIER, ALL_BUT(0), READ), x=X, before=BEGIN, y=torch.zeros(64)
    )
    assert report.findings[0].place == place(text, "THERE")
    assert "has not delivered yet" in report.findings[0].sentence


def ask(call):
    return body(f"__pipeline_memcpy_async({call}); // HERE\n", COMMIT, ALL_BUT(0), "y[t] = 1;")


WRONG = {
    "size": (ask("a + 4 * t, x, 12"), ["thread 0", "12 bytes", "4, 8 or 16"]),
    "zfill": (ask("a + 4 * t, x, 8, 9"), ["thread 0", "9 bytes", "size"]),
    "source misaligned": (ask("a + 4 * t, x + t, 16"), ["thread 1", "from", "multiple of 16"]),
    "destination misaligned": (ask("a + t, x, 8"), ["thread 1", "to", "multiple of 8"]),
    "shared to shared": (ask("a + 4 * t, b, 16"), ["thread 0", "global"]),
    "to a local array": (
        body("float own[4];\n", ask("own, x, 16").removeprefix(ARRAYS)),
        ["thread 0", "shared"],
    ),
    "to global memory": (ask("y + 4 * (t % 16), x, 16"), ["thread 0", "shared"]),
    "outside the tensor": (ask("a + 4 * t, x + 4 * t + 4, 16"), ["thread 63", "x[256]", "256"]),
    "outside shared memory": (ask("a + 4 * t + 4, x, 16"), ["thread 63", "a"]),
}


@cases(WRONG)
def test_a_wrong_copy_is_one_sentence_at_its_line(inspect, statements, words, options):
    assert_only(inspect(statements, x=X, before=BEGIN, **options), words)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (
            "a, x + 1, 8",
            "thread 0 copies 8 bytes asynchronously from an address that is no",
        ),
        ("a, a, 8", "thread 0 copies asynchronously from an address that is not in global memory"),
        ("a, x + 10000, 4", r"thread 0 reached x\[10000\], outside x, which has 256 elements"),
    ],
)
def test_a_plain_run_says_it_too(launch, call, sentence):
    text = (
        f"{BEGIN}\n__global__ void kernel(const float* x, float* y) {{ const int t = threadIdx.x;\n"
        f"{ask(call)} }}"
    )
    with pytest.raises(KernelFault, match=sentence):
        launch(text, {"y": torch.zeros(32)}, {"x": X})


def test_a_copy_counts_as_a_global_load_and_a_shared_store_of_its_line(inspect):
    report, text = inspect(body(COPY, COMMIT, ALL_BUT(0), BARRIER, READ), x=X, before=BEGIN)
    (load,), (store,) = report.of("x"), report.of("a", "store")
    assert load.place == store.place == place(text)
    assert (load.bytes_per_lane, load.requests, load.cost) == (16, 2, 32)
    assert (store.bytes_per_lane, store.requests, store.cost) == (16, 2, 8)
    assert load.first.bytes_of == {lane: 16 * lane for lane in range(32)}
    assert report.findings == () and report.notes == ()
    copying, reading = report.phases
    assert copying.requests == ((1, 0, 0, 1),) * 2 and reading.requests == ((0, 1, 1, 0),) * 2


def test_ten_reports_of_late_reads_are_the_same(inspect):
    statements = body(COPY, COMMIT, BARRIER, "y[64 * blockIdx.x + t] = a[255 - t];")
    options = {"x": X, "y": torch.zeros(64 * 20), "grid": (20, 1), "before": BEGIN}
    (report,) = {str(inspect(statements, **options)[0]) for _ in range(10)}
    assert re.search(r"has not delivered yet.*\n.*\n +\(1,280 times\)", report)
