"""Places where the instruments once missed a fault, told a false one, or counted otherwise."""

import pytest
import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.runners import simulator

FILL = "__shared__ float a[64]; a[t] = x[t]; __syncthreads();\n"


def sentences(report):
    return [finding.sentence for finding in report.findings]


@pytest.mark.parametrize(
    "statements, part",
    [
        (FILL + "a[t - 256] = 5; y[t] = a[t];", "writes a[-256], outside a"),
        ("y[t] = x[t]; __syncthreads(); y[t] = y[t ^ 1];", "which thread 1 reads"),
        (
            "y[t] = x[t]; __syncthreads(); float v = 0; if (t < 32) v = y[t + 32]; y[t] += v;",
            "which thread 0 reads",
        ),
        (
            "float w; if (t % 32 < 16) w = __shfl_xor_sync(~0u, x[t], 1);\n"
            "else w = __ballot_sync(~0u, x[t] > 3); y[t] = w;",
            "lanes 16-31 never make",
        ),
        ("((unsigned char*)y)[4 * t] = 1;", "y[0] was never written (64 of its 64"),
        (FILL + "memcpy(y, x, n - 64); if (t > 0) y[t] = 1;", "y[0] was never written"),
    ],
)
def test_it_is_found(inspect, statements, part):
    report, _ = inspect(statements)
    assert any(part in sentence for sentence in sentences(report)), sentences(report)


@pytest.mark.parametrize(
    "statements",
    [
        "for (int i = 0; i < 4; ++i) ((unsigned char*)y)[4 * t + i] = i;",
        "y[t] = x[t]; __syncthreads(); float v = y[63 - t]; __syncthreads(); y[t] = v;",
        FILL + "memcpy(y + t, a + t, t % 2 ? 0 : 4); if (t % 2) y[t] = 1;",
        "y[t] = x[t]; y[t] += y[t];",
    ],
)
def test_it_is_no_fault(inspect, statements):
    report, _ = inspect(statements)
    assert sentences(report) == []


@pytest.mark.parametrize(
    "statements, n, space, op, expected",
    [
        # Of a guard that comes twice, and of an if without else: counted on an H200.
        (
            "__shared__ float a[64]; a[t] = t < n ? x[t] : 0; __syncthreads();\n"
            "float v = a[63 - t] + x[t]; if (t < n) y[t] = v;",
            50,
            "shared",
            "store",
            (2, 2),
        ),
        (
            "float v = 0; if (t % 2) v = x[t]; v += x[n - 1 - t]; v *= x[(t + 7) % n];\n"
            "if (t % 2) v = v * v; y[t] = v;",
            64,
            "global",
            "store",
            (2, 8),
        ),
    ],
)
def test_it_is_counted_as_the_hardware_does(inspect, statements, n, space, op, expected):
    report, _ = inspect(statements, n=n)
    assert report.total(space, op) == expected


@pytest.mark.parametrize("newline", ["", "\n"], ids=["one line", "several"])
def test_lanes_that_break_out_of_a_loop_meet_behind_it(inspect, newline):
    # On an H200: 44 requests to load x, 1 to store y; the load behind the loop is merged here.
    loop = f"while (true) {{{newline}if (x[t + i] > 40) {{{newline}v = x[t * 8 + i];{newline}break;"
    report, _ = inspect(
        f"float v = 0; int i = 0;\n{loop}{newline}}}{newline}++i;{newline}}}\ny[t] = v + x[t];",
        x=torch.arange(1024.0),
        y=torch.zeros(32),
        threads=32,
    )
    assert report.total("global", "store") == (1, 4)
    assert report.total("global", "load")[0] == 43


def test_lanes_behind_an_if_are_not_its_other_side(inspect):
    report, _ = inspect("float v = 0; if (t % 2) v += x[t];\nv += x[(t * 7 + 3) % 64]; y[t] = v;")
    guarded, all_lanes = report.of("x")
    assert (guarded.lanes_per_request, all_lanes.lanes_per_request) == (16, 32)
    assert report.notes == ()


def test_a_copy_of_another_length_in_each_lane_is_a_request_of_each_length(inspect):
    report, _ = inspect(
        "memcpy(y + 2 * t, x + 2 * t, 4 * (t % 3));", x=torch.arange(128.0), y=torch.zeros(128)
    )
    assert sum(line.lanes for line in report.of("y", "store")) == 21 * 1 + 21 * 2


def test_a_struct_is_copied_at_the_line_that_copies_it(inspect):
    report, text = inspect(
        "Pair p = reinterpret_cast<const Pair*>(x)[t]; // HERE\ny[t] = p.a + p.b;",
        x=torch.arange(128).half(),
        before="struct Pair {\n  half a;\n  half b;\n};",
    )
    assert {line.code for line in report.of("x")} == {
        "Pair p = reinterpret_cast<const Pair*>(x)[t]; // HERE"
    }


def test_odd_line_separators_do_not_move_the_lines(inspect):
    report, _ = inspect("y[t] = x[t]; // HERE", before="// a \x0c b \u2028 c\n")
    assert {line.code for line in report.lines} == {"y[t] = x[t]; // HERE"}


def test_many_short_blocks_are_stopped_at_the_limit(inspect):
    report, _ = inspect(
        "for (int i = 0; i < 20; ++i) if (blockIdx.x % 1000 == 0) y[t] = x[i];",
        grid=(1_000_000, 1),
        time_limit=0.5,
    )
    assert "did not end within 0.5 s" in report.findings[0].sentence


def test_more_static_shared_memory_than_cuda_allows_does_not_compile(inspect):
    with pytest.raises(KernelTextError, match="take 80000 bytes, and a block may declare 49152"):
        inspect("__shared__ float a[20000]; a[t] = x[t]; y[t] = a[t];")


def run_empty(*launch):
    """Run a kernel that does nothing."""
    text = "__global__ void kernel() {}"
    return simulator.inspect_text(text, [], simulator.Launch(*launch))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: run_empty((1, 1), 2048), "1 to 1024 threads, got 1 x 1 of 2048"),
        (lambda: run_empty((0, 1), 32), "at least 1 x 1 blocks"),
        (lambda: run_empty((1, 1), 32, 10**6), "shared_bytes must be from 0 to 232448"),
        (lambda: simulator.Integer(2**31), "holds 32 bits, got 2147483648"),
        (lambda: simulator.Tensor("x", torch.zeros(0)), "x must be a contiguous CPU tensor"),
        (lambda: simulator.Tensor("x", torch.zeros(4, 4).T), "strides"),
    ],
)
def test_what_cannot_be_launched_is_refused_in_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_kernel_without_arguments_can_be_inspected():
    text = "__global__ void kernel() { __shared__ int a[32]; a[threadIdx.x] = 1; }"
    report = simulator.inspect_text(text, [], simulator.Launch((1, 1), 32))
    assert report.total("shared", "store") == (1, 1) and report.findings == ()


def test_a_tensor_may_be_absent_and_one_element_have_any_stride():
    text = """__global__ void kernel(const float* x, const float* missing, float* y) {
      y[0] = missing ? missing[0] : x[0];
    }"""
    x, y = torch.full((1, 1), 3.0).as_strided((1, 1), (1, 5)), torch.zeros(1)
    arguments = [
        simulator.Tensor("x", x),
        simulator.NullPointer(),
        simulator.Tensor("y", y, is_output=True),
    ]
    report = simulator.inspect_text(text, arguments, simulator.Launch((1, 1), 1))
    assert report.findings == () and y.item() == 3
