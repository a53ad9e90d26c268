"""What reaches C of a launch; that it is done is seen on a GPU."""

import struct

import pytest
import torch

from gemlite_edu import cuda
from gemlite_edu.launches import Launch

STREAM, GPU = 77, torch.device("cuda", 0)


class Library:
    """In place of a kernel's: it keeps what it is called with."""

    def __init__(self, error=0):
        self.error, self.packed = error, None

    def launch(self, packed):
        self.packed = packed
        return self.error

    def error_text(self, error):
        return b"too many threads"


@pytest.fixture
def current_stream(monkeypatch):
    monkeypatch.setattr(
        torch._C, "_cuda_getCurrentRawStream", lambda device: STREAM + device, raising=False
    )


def test_the_struct_of_the_launch(current_stream):
    library, x, y = Library(), torch.ones(3), torch.ones(4)
    plan = Launch({}, grid=(132, 2), threads=256, shared_bytes=49_153, integers=(5, -1))
    cuda.ReadyLaunch(library, plan, torch.device("cuda", 1))((x, None), y)
    values = struct.unpack("14q", library.packed)
    assert values[:9] == (1, 132, 2, 256, 49_153, 1, False, STREAM + 1, 5)
    assert values[9:] == (x.data_ptr(), 0, y.data_ptr(), 5, -1)


def test_an_error_of_the_launch_is_said(current_stream):
    launch = cuda.ReadyLaunch(Library(error=9), Launch({}, (1, 1), 2048, 0, ()), GPU)
    with pytest.raises(RuntimeError, match="the launch failed: too many threads"):
        launch([], torch.ones(1))
