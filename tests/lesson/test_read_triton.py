"""read_triton shows what runs."""

import ast
import inspect

import IPython.display
import pytest

from gemlite_edu.kernels.triton import FOLDER
from gemlite_edu.runners.triton import kernel
from gemlite_lab.lesson.read_triton import read_triton, text_of


@pytest.mark.parametrize("function", [None, "unpack"])
def test_it_shows_the_lines_of_the_file_and_their_numbers(function, monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    read_triton("dequantize", function)
    in_file = (FOLDER / "dequantize.py").read_text().splitlines()
    fence, *lines, end = shown[0].data.splitlines()
    assert (fence, end) == ("```python", "```")
    ast.parse("\n".join(lines))
    for line in filter(None, lines):
        code, _, number = line.rpartition("#")
        assert in_file[int(number) - 1] == code.rstrip()


def test_it_shows_one_function_with_its_decorator():
    text = text_of("gemv", "gemv")
    assert text.startswith("@triton.jit\ndef gemv(\n")
    assert text.strip() == inspect.getsource(kernel("gemv", True).fn).strip()


@pytest.mark.parametrize("name, function, said", [
    ("gemw", None, "there is no file 'gemw'; there are add_chunks, "),
    ("gemv", "gemm", "gemv has no function 'gemm'; it has gemv"),
])  # fmt: skip
def test_what_is_not_there_is_refused(name, function, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        text_of(name, function)
