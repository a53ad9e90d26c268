"""Measure the host's time for an eager call of GemLiteLinear, part by part; it needs a GPU.

python tools/call_overhead.py      (writes benchmarks/data/call_overhead_<device>.json)

It calls each part together with all parts before it, through the layer's own functions and in
torch.inference_mode. The time of a part is the time of all these, less the time without it. Each of
the two is the least of several turns, so a small difference may be off, even below 0.
"""

import json
import sys
import time
from datetime import date
from functools import partial
from unittest import mock

import torch

from gemlite_edu.core import GemLiteLinear
from gemlite_edu.layers import gemlite_linear as linear_module
from gemlite_edu.operators import linear_op, triton_product
from gemlite_edu.operators.choose import FAST
from gemlite_edu.runners import cuda
from gemlite_lab.bench import measurements

GROUP_SIZE = 128
PROBLEMS = ((1, 4096, 4096), (16, 4096, 4096), (2048, 3072, 8192))  # (rows of x, N, K)
_CALLS, _TURNS = 200, 51  # the GPU's queue holds about a thousand launches


def record():
    """{"device", "date", "torch", "rows": {M: {"layer", "matmul_type", "parts"}}}.

    parts: {what: total and own microseconds}.
    """
    return {
        "device": torch.cuda.get_device_name(),
        "date": str(date.today()),
        "torch": torch.__version__,
        "rows": {M: of_rows(M, N, K) for M, N, K in PROBLEMS},
    }


@torch.inference_mode()
def of_rows(M, N, K):
    """The kernel for M rows of x, and its parts: total and own microseconds of each."""
    layer, x = example(M, N, K)
    chosen = layer.explain(M).split()[3].strip(",")
    names, calls = zip(*parts_of(layer, x, chosen), strict=True)
    parts, before = {}, 0.0
    for name, total in zip(names, host_us(calls), strict=True):
        parts[name] = {"total_us": round(total, 2), "own_us": round(total - before, 2)}
        before = total
    return {"layer": repr(layer), "matmul_type": chosen, "parts": parts}


def example(M, N, K):
    """A layer on the GPU, and x (M, K)."""
    layer = GemLiteLinear(4, GROUP_SIZE, K, N)
    codes = torch.randint(0, 16, (N, K), dtype=torch.uint8)
    scales = torch.rand(N, K // GROUP_SIZE).half() + 1
    layer.pack(codes, scales, torch.full((N, K // GROUP_SIZE), 8.0))
    return layer.cuda(), torch.randn(M, K, device="cuda").half()


def parts_of(layer, x, chosen):
    """(part, a call of all parts up to it), from the launch to the layer."""
    layer(x)  # compiles, and measures configs
    ((operands, _),) = watched(linear_module, "linear_at_once", lambda: layer(x))
    of_others = dense_parts if chosen == "DEQUANTIZE" else triton_parts
    yield from (cuda_parts if chosen in FAST else of_others)(operands)
    yield "the choice", lambda: linear_op._of_fitting(*operands)
    yield "whether torch must know", lambda: linear_op.linear_at_once(*operands)
    yield "the layer's own", lambda: layer.forward(x)
    yield "torch.nn.Module", lambda: layer(x)


def cuda_parts(operands):
    """The parts for a CUDA kernel: one call into C that launches it, and the steps before it."""
    run = partial(linear_op.linear_at_once, *operands)
    (launch, pointers), kept = launch_of(run)
    ((prepared, _),) = watched(linear_op, "_prepared", run)
    numbers, product = launch.numbers(pointers), linear_op._prepared(*prepared)
    x, token_scales, words, _, scales, zeros, channel_scales, bias, _, _, levels = operands
    of_product = x, words, scales, zeros, channel_scales, token_scales, bias, levels
    yield "the launch", lambda kept=kept: launch.launch(numbers)
    yield "its arguments", lambda: launch(pointers)
    yield "tensors for y and x", lambda: product(*of_product)


def launch_of(run):
    """(launch, pointers) of a call, and the tensors they point to: y, and a scratch if any."""
    kept, new_empty = [], torch.Tensor.new_empty

    def keep(*arguments, **options):
        kept.append(new_empty(*arguments, **options))
        return kept[-1]

    with mock.patch.object(torch.Tensor, "new_empty", keep):
        ((launched, _),) = watched(cuda.ReadyLaunch, "numbers", lambda: kept.append(run()))
    return launched, kept


def triton_parts(operands):
    """The parts for Triton kernels."""
    run = partial(linear_op.linear_at_once, *operands)
    launches = watched(triton_product, "launch", run)
    ((product, named),) = watched(linear_op, "matmul", run)
    yield "Triton's launches", lambda: [triton_product.launch(*a, **n) for a, n in launches]
    yield "grids, tensors for sums and y", lambda: linear_op.matmul(*product, **named)


def dense_parts(operands):
    """The parts for a product with dense weights, by Triton and the library."""
    run = partial(linear_op.linear_at_once, *operands)
    ((dequantized, _),) = watched(linear_op, "_by_library", run)
    by_library = partial(linear_op._by_library, *dequantized)
    ((product, _),) = watched(torch.nn.functional, "linear", by_library)
    yield "torch's product", lambda: torch.nn.functional.linear(*product)
    yield "dequantizing", by_library


def watched(owner, name, call):
    """[(arguments, named arguments)] that `call` passes to a function of a module or class."""
    function = getattr(owner, name)
    with mock.patch.object(owner, name, autospec=True, side_effect=function) as spy:
        call()
    return [(one.args, one.kwargs) for one in spy.call_args_list]


def host_us(calls):
    """The host's microseconds for each call: the least over turns in which all calls take part.

    Anything above the least is other work of the machine. It waits for the GPU before each turn."""
    turns = [[_us_of_a_turn(call) for call in calls] for _ in range(_TURNS)]
    return [min(found) for found in zip(*turns, strict=True)]


def _us_of_a_turn(call):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(_CALLS):
        call()
    return (time.perf_counter() - start) / _CALLS * 1e6


def table(found):
    """The record in Markdown."""
    yield f"{found['device']}, {found['date']}, torch {found['torch']}"
    for M, row in found["rows"].items():
        yield f"\n{row['layer']}"
        yield f"\n| {M} rows, {row['matmul_type']} | own us | total us |\n|---|---|---|"
        for name, part in row["parts"].items():
            yield f"| {name} | {part['own_us']:.2f} | {part['total_us']:.2f} |"


def main():
    if not torch.cuda.is_available():
        sys.exit("tools/call_overhead.py needs a CUDA GPU that torch can see")
    found = record()
    csv = measurements.path_of(found["device"])
    path = csv.with_name(csv.stem.replace("bench_", "call_overhead_") + ".json")
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(found)), f"\nwritten to {path}")


if __name__ == "__main__":
    main()
