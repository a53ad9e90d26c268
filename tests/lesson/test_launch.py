"""`launch`: a small kernel of one's own in the simulator."""

import pytest
import torch

from gemlite_edu import Window
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_lab import MMA, launch

ADD = """
__global__ void add(const float* x, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = x[i] + N;
}
"""


def arguments(**others):
    return {"x": torch.arange(50.0), "y": torch.zeros(50), "N": 50} | others


def test_it_writes_into_what_is_not_const_and_prints_nothing(capsys):
    given = arguments()
    launch(ADD, blocks=2, threads=32, **given)
    assert torch.equal(given["y"], torch.arange(50.0, 100.0))
    assert torch.equal(given["x"], torch.arange(50.0)) and capsys.readouterr().out == ""


def test_the_order_of_the_names_does_not_matter():
    given = arguments()
    launch(ADD, 2, 32, **dict(reversed(given.items())))
    assert given["y"][0] == 50


@pytest.mark.parametrize(
    "text, argument",
    [
        ("half", torch.zeros(4).half()),
        ("uint8_t", torch.zeros(4, dtype=torch.uint8)),
        ("uint32_t", torch.zeros(4, dtype=torch.int32)),
    ],
)
def test_the_types_of_a_first_lesson_are_known(text, argument):
    launch(f"__global__ void k({text}* y) {{ y[threadIdx.x] = threadIdx.x; }}", 1, 4, y=argument)
    assert argument.tolist() == [0, 1, 2, 3]


def test_faults_are_printed_with_the_line_of_the_text(capsys):
    given = arguments()
    launch(ADD.replace("if (i < N) ", ""), blocks=2, threads=32, **given)
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == (
        "add, line 3: block (1, 0), thread 18 reads x[50], outside x, which has 50 elements of 4 "
        "bytes"
    )
    assert second == "    y[i] = x[i] + N;"


def test_a_brace_left_out_is_counted():
    with pytest.raises(KernelTextError, match="opens 1 brace"):
        launch(ADD.strip().removesuffix("}"), 2, 32, **arguments())


def test_a_compiler_error_has_the_line_of_the_text():
    with pytest.raises(KernelTextError, match=r"^add, line 3: .*semicolon\)\n    if \(i < N\)"):
        launch(ADD.replace("+ N;", "+ N"), 2, 32, **arguments())


@pytest.mark.parametrize(
    "others, message",
    [
        ({"z": 1}, r"add takes x, y, N: .* got x, y, N, z$"),
        ({"N": 50.0}, "N takes an int, got float"),
        ({"N": True}, "N takes an int, got bool"),
        ({"x": 50}, "x takes a tensor, got int"),
        ({"x": torch.arange(50)}, "takes x as float, so x must be a tensor of torch.float32, got"),
    ],
)
def test_arguments_that_do_not_fit_are_named(others, message):
    with pytest.raises(TypeError, match=message):
        launch(ADD, 2, 32, **arguments(**others))


def test_a_missing_argument_is_named():
    with pytest.raises(TypeError, match="add takes x, y, N: .* got none$"):
        launch(ADD, 2, 32)


def test_a_text_without_a_kernel_is_refused():
    with pytest.raises(ValueError, match="the text has no kernel: it begins with __global__ void"):
        launch("void add(float* y) {}", 1, 1, y=torch.zeros(1))


def test_a_parameter_that_launch_cannot_pass_is_refused():
    with pytest.raises(ValueError, match=r"a pointer or an int, such as float\* y, not float s$"):
        launch("__global__ void k(float s) {}", 1, 1, s=1.0)


def test_a_header_gives_functions_and_faults_in_them_name_the_line_that_calls(capsys):
    text = """
__global__ void pairs(const half* x, uint32_t* y) {
  y[threadIdx.x] = pair_at(x + 2 * threadIdx.x);
}
"""
    y = torch.zeros(4, dtype=torch.int32)
    launch(text, 1, 4, MMA, x=torch.arange(8.0).half(), y=y)
    assert y.view(torch.float16).tolist() == list(range(8)) and capsys.readouterr().out == ""
    launch(text.replace("2 *", "1 *"), 1, 4, MMA, x=torch.arange(8.0).half(), y=y)
    assert capsys.readouterr().out.startswith("pairs, line 2: block (0, 0), thread 1 reads 4 bytes")


def test_a_window_gives_the_report_with_the_steps():
    x, y = torch.arange(32.0), torch.zeros(32)
    text = "__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }"
    assert launch(text, 1, 32, x=x, y=y) is None
    report = launch(text, 1, 32, x=x, y=y, window=Window(first=1))
    assert [(step.number, step.op, step.name) for step in report.record.steps] == [
        (1, "store", "y")
    ]
