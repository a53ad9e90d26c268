import sys
from pathlib import Path

import pytest
import torch

from gemlite_edu.core import GemLiteLinear
from gemlite_edu.operators import linear_op
from gemlite_edu.operators.choose import Problem

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))

import call_overhead


@pytest.fixture
def small(monkeypatch):
    """A layer as on a GPU; each call is made once, and its time is how many there were."""
    monkeypatch.setattr(Problem, "torch_is_sooner", False)
    linear_op._prepared.cache_clear()
    layer = GemLiteLinear(4, 64, 128, 20)
    codes = torch.randint(0, 16, (20, 128), dtype=torch.uint8)
    layer.pack(codes, torch.ones(20, 2), torch.ones(20, 2))
    times = iter(range(1, 100))

    def host_us(calls):
        for call in calls:
            call()
        return [float(next(times)) for _ in calls]

    monkeypatch.setattr(call_overhead, "host_us", host_us)
    monkeypatch.setattr(call_overhead, "example", lambda M, N, K: (layer, torch.ones(M, K).half()))
    yield
    linear_op._prepared.cache_clear()


@pytest.mark.parametrize(
    "M, matmul_type, first",
    [
        (1, "GEMV", "Triton's launches"),
        (16, "GEMM_SPLITK", "Triton's launches"),
        (65, "DEQUANTIZE", "torch's product"),
    ],
)
def test_every_part_is_called_from_the_launch_to_the_layer(small, M, matmul_type, first):
    found = call_overhead.of_rows(M, 20, 128)
    assert found["matmul_type"] == matmul_type
    names = list(found["parts"])
    assert names[0] == first and names[-1] == "torch.nn.Module"
    totals = [part["total_us"] for part in found["parts"].values()]
    assert totals == list(range(1, len(names) + 1))
    assert all(part["own_us"] == 1 for part in found["parts"].values())
    about = {"device": "a GPU", "date": "today", "torch": "2", "rows": {M: found}}
    lines = list(call_overhead.table(about))
    assert len(lines) == 3 + len(names) and lines[3] == f"| {first} | 1.00 | 1.00 |"


class Launch:
    """As `cuda.ReadyLaunch`; it notes what it is given."""

    def __init__(self, launched):
        self.launch = launched.append

    def __call__(self, pointers):
        self.launch(self.numbers(pointers))

    def numbers(self, pointers):
        return pointers


def test_a_cuda_kernel_has_the_same_parts(monkeypatch):
    launched = []
    launch = Launch(launched)
    operands = [f"operand {i}" for i in range(11)]

    def linear_at_once(*given):
        linear_op._prepared("how")(*given)

    monkeypatch.setattr(call_overhead.cuda, "ReadyLaunch", Launch)
    monkeypatch.setattr(linear_op, "linear_at_once", linear_at_once)
    monkeypatch.setattr(linear_op, "_prepared", lambda how: lambda x, *_: launch((x, "y")))
    for name, call in call_overhead.cuda_parts(operands):
        launched.clear()
        call()
        assert launched == [("operand 0", "y")], name


def test_what_a_launch_leads_to_is_kept_as_long_as_it_is_repeated(monkeypatch):
    monkeypatch.setattr(call_overhead.cuda, "ReadyLaunch", Launch)
    made = []

    def run():
        y = torch.empty(0).new_empty(2, 3)
        made.append(y.data_ptr())
        Launch([])((y.data_ptr(),))

    (_, pointers), kept = call_overhead.launch_of(run)
    assert list(pointers) == made == [kept[0].data_ptr()]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_in_one_sentence():
    with pytest.raises(SystemExit, match="needs a CUDA GPU that torch can see") as ended:
        call_overhead.main()
    assert "\n" not in str(ended.value)
