"""read_triton shows what runs."""

import inspect

import IPython.display
import pytest

from gemlite_edu.kernels.triton import FOLDER
from gemlite_edu.runners.triton import kernel
from gemlite_lab.lesson.read_triton import read_triton, text_of


def test_it_shows_a_file_as_it_is(monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    read_triton("gemv")
    assert shown[0].data == f"```python\n{(FOLDER / 'gemv.py').read_text().strip()}\n```"


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
