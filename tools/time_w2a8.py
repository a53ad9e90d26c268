"""Time gemm_a8w2_fast beside gemm_a8w2_wmma and cuBLAS, in microseconds, as `make bench` does.

python tools/time_w2a8.py [M ...]   (needs a Hopper GPU; prints a table)

cuBLAS multiplies unpacked weights: int8 ones by torch._int_mm, which takes more than 16 rows, and
bfloat16 ones. Nothing is added to the record of `make bench`.
"""

import itertools
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from gemlite_edu import load
from gemlite_edu.kernels.machine import HOPPER
from gemlite_lab.bench.candidate import find_candidates
from gemlite_lab.bench.card import current_card
from gemlite_lab.bench.measuring import measure
from gemlite_lab.bench.problem import Problem, WeightFormat

SHAPES = (  # N, K: BitNet's, then Llama's
    *((2560, 2560), (3840, 2560), (13824, 2560), (2560, 6912)),
    *((4096, 4096), (14336, 4096), (4096, 14336)),
)
ROWS = (16, 32, 64, 128, 256, 512, 1024, 2048)
OURS = ("gemm_a8w2_fast", "gemm_a8w2_wmma")
BITS = {**dict.fromkeys(OURS, 2), "int_mm": 8, "cublas_bf16": 16}  # of a weight


def compile_all(Ms):
    """Compile what the table needs, side by side."""
    calls = {}  # one of each build
    for name in OURS:
        for M, (N, K) in itertools.product(Ms, SHAPES):
            calls[name, str(_kernel(name).plan(M, N, K, _gpu()).product.defines)] = (name, M, N, K)
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        list(pool.map(compile_one, *zip(*calls.values(), strict=True)))


def compile_one(name, M, N, K):
    """Compile one of our kernels for these shapes."""
    _kernel(name).compile_for_gpu(_gpu(), M, N, K)


def _kernel(name):
    return load(name, y_dtype=torch.bfloat16)


def _gpu():
    return torch.device("cuda", torch.cuda.current_device())


def microseconds(candidate, problem, card, generator):
    """The median time; "-" where the candidate does not take the problem."""
    if candidate.why_not_here(problem):
        return "-"
    return f"{measure(candidate, problem, card, generator).timing.p50:.1f}"


def main(Ms):
    compile_all(Ms)
    candidates = find_candidates()
    card, generator = current_card(), torch.Generator("cuda").manual_seed(0)
    print(f"| N x K | kernel | {' | '.join(f'M = {M}' for M in Ms)} |")
    print(f"|---|---|{'---:|' * len(Ms)}")
    for N, K in SHAPES:
        for name, nbits in BITS.items():
            problems = [Problem(WeightFormat(nbits), M, N, K) for M in Ms]
            times = [microseconds(candidates[name], p, card, generator) for p in problems]
            print(f"| {N} x {K} | `{name}` | {' | '.join(times)} |", flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != HOPPER:
        sys.exit("measuring needs a Hopper GPU that torch sees")
    main(tuple(map(int, sys.argv[1:])) or ROWS)
