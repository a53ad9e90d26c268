"""The loop of Triton's interpreter: seconds from a changed kernel to an answer, and of a run.

Run as `TRITON_INTERPRET=1 python -m gemlite_edu.bench.interpreter_loop`: triton chooses its mode
once per process. The kernel is a GEMV of 4096 x 4096 unquantized weights, M = 1.
"""

import importlib.util
import tempfile
import time
from pathlib import Path

import torch
import triton
import triton.language as tl

from gemlite_edu import reference

_SIZE, _BLOCK_N, _BLOCK_K = 4096, 512, 1024


@triton.jit
def gemv(x_ptr, W_ptr, y_ptr, K: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """y = W x; N is a multiple of BLOCK_N and K of BLOCK_K."""
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    sums = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for first in range(0, K, BLOCK_K):
        k = first + tl.arange(0, BLOCK_K)
        sums += tl.sum(tl.load(W_ptr + n[:, None] * K + k) * tl.load(x_ptr + k), axis=1)
    tl.store(y_ptr + n, sums)


def changed_kernel(folder):
    """This file's kernel, loaded from a text never seen before."""
    path = Path(folder) / f"changed_{time.time_ns()}.py"
    path.write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.gemv


def answer(kernel, x, W):
    y = torch.full((_SIZE,), torch.nan)
    kernel[(_SIZE // _BLOCK_N,)](x, W, y, _SIZE, _BLOCK_N, _BLOCK_K)
    return y


def seconds(folder, x, W):
    """(seconds from a changed kernel to an answer, seconds of one more run)."""
    start = time.perf_counter()
    kernel = changed_kernel(folder)
    y = answer(kernel, x, W)
    first = time.perf_counter() - start
    error = (y - reference.matmul(x[None], W)[0]).abs()
    assert (error <= reference.error_bound(x[None], W, torch.float32)[0]).all(), "wrong answer"
    start = time.perf_counter()
    answer(kernel, x, W)
    return first, time.perf_counter() - start


if __name__ == "__main__":
    torch.manual_seed(0)
    x, W = torch.randn(_SIZE), torch.randn(_SIZE, _SIZE)
    with tempfile.TemporaryDirectory() as folder:
        found = [seconds(folder, x, W) for _ in range(3)]
    print(*[sorted(column)[1] for column in zip(*found, strict=True)])
