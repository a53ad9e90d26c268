"""The GPU that a benchmark runs on: its measured limits, and the facts its driver reports."""

import subprocess
from dataclasses import dataclass

import torch

from gemlite_edu.runners.timing import CudaGraphClock, time_replays

_READ_BYTES = 4 * 2**30
_MATMUL_SIZE = 8192


@dataclass(frozen=True)
class Card:
    """A GPU and its limits.

    read_gb_per_s: the fastest read of a buffer far larger than the L2, GB = 1e9 bytes.
    matmul_tflops: the rate of an 8192 x 8192 x 8192 fp16 product of random numbers."""

    name: str
    l2_bytes: int
    read_gb_per_s: float
    matmul_tflops: float
    driver: str


def current_card():
    """Measure the current GPU, which takes some seconds. Raises ValueError without a GPU."""
    if not torch.cuda.is_available():
        raise ValueError("torch sees no CUDA GPU here, and kernels are measured on one")
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return Card(
        properties.name,
        properties.L2_cache_size,
        read_bandwidth(),
        matmul_rate(),
        ask_driver("driver_version"),
    )


def read_bandwidth():
    """GB/s of the fastest of several sums over a buffer; each sum reads each byte once."""
    free, _ = torch.cuda.mem_get_info()
    buffer = torch.ones(min(_READ_BYTES, free // 4) // 4, device="cuda")
    views = [buffer, buffer.view(torch.float16), buffer.view(torch.int64)]
    clocks = [CudaGraphClock([view.sum]) for view in views]
    return buffer.nbytes / min(time_replays(clock).p20 for clock in clocks) / 1e3


def matmul_rate():
    """TFLOP/s of a large fp16 matrix product, two operations per multiply-add."""
    n = _MATMUL_SIZE
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
    return 2 * n**3 / time_replays(CudaGraphClock([lambda: a @ b])).p20 / 1e6


def clocks():
    """(SM clock, memory clock) of the current GPU now, MHz; (0, 0) if the driver gives none."""
    answer = ask_driver("clocks.sm,clocks.mem")
    try:
        sm, memory = (int(value) for value in answer.split(","))
    except ValueError:
        return 0, 0
    return sm, memory


def ask_driver(what):
    """nvidia-smi's answer to the query `what` about the current GPU; "" if it gives none."""
    if not torch.cuda.is_available():
        return ""
    uuid = torch.cuda.get_device_properties(torch.cuda.current_device()).uuid
    command = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits"]
    try:
        result = subprocess.run(
            [*command, f"--id=GPU-{uuid}"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""
