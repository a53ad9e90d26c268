"""How long Triton's interpreter takes: seconds from a changed `unpack` to an answer, and for a run.

The kernel is the GEMV of 4-bit weights, 4096 x 4096, M = 1.
"""

import importlib.util
import time
from pathlib import Path

import torch

from gemlite_edu.kernels.triton.texts import text_of
from gemlite_edu.numbers import bounds, reference
from gemlite_edu.numbers.quantize import QuantizedWeight
from gemlite_edu.operators.triton_product import matmul
from gemlite_edu.operators.weight import PackedWeight

_SIZE, _KERNEL, _FUNCTION = 4096, "gemv", "unpack"


def changed_function(folder):
    """The shipped `unpack`, made from a text that no cache has seen."""
    path = Path(folder) / f"changed_{time.time_ns()}.py"
    text = "import triton\nimport triton.language as tl\n\n" + text_of("dequantize", _FUNCTION)
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, _FUNCTION)


def problem():
    """(x, weight, y in fp64, its bound)."""
    torch.manual_seed(0)
    x = torch.randn(1, _SIZE).half()
    W_q = torch.randint(0, 16, (_SIZE, _SIZE), dtype=torch.uint8)
    q = QuantizedWeight(W_q, torch.ones(1, 1), torch.full((1, 1), 8.0), 4, _SIZE)
    W = q.dequantize()
    bound = bounds.error_bound(x, W, torch.float16)
    return x, PackedWeight.from_quantized(q), reference.matmul(x, W), bound


def seconds(folder, x, weight, right, bound):
    """(seconds from a changed function to an answer, seconds for one more run)."""
    start = time.perf_counter()
    replace = {_FUNCTION: changed_function(folder)}
    y = matmul(_KERNEL, x, weight, replace=replace)
    first = time.perf_counter() - start
    assert ((y - right).abs() <= bound).all(), "wrong answer"
    start = time.perf_counter()
    matmul(_KERNEL, x, weight, replace=replace)
    return first, time.perf_counter() - start
