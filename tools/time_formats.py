"""Time a layer by each kernel that its rules choose from, where no Triton kernel reads the format.

python tools/time_formats.py [M ...]   (needs a CUDA GPU; prints a table, three minutes on 16 cores)

The codes and x are random, and the levels are the codes minus the middle one, so that the harness
of `make bench` has the right y for each format.
"""

import sys
from functools import partial

import torch

from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.numbers.coded_weight import CodedWeight
from gemlite_edu.numbers.format import Format
from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.card import current_card
from gemlite_lab.bench.measuring import measure
from gemlite_lab.bench.problem import Problem, WeightFormat

GROUP_SIZE, SHAPES, ROWS = 128, ((4096, 4096), (14336, 4096)), (16, 64, 256, 1024, 2048)
HALF, BF16 = torch.float16, torch.bfloat16
FORMATS = (  # bits, whether codes are looked up, dtype of x and y
    *((nbits, False, HALF) for nbits in (3, 5, 6, 7)),
    *((nbits, True, HALF) for nbits in (4, 6, 8)),
    *((nbits, True, BF16) for nbits in (4, 8)),
)
MATMUL_TYPES = ("GEMM_FAST", "GEMM_MMA", "DEQUANTIZE")


def candidate_of(has_levels, dtype, matmul_type):
    """The layer by one matmul type, as a `Candidate` of the benchmark."""
    prepare = partial(_prepared, has_levels, dtype, matmul_type)
    return Candidate(matmul_type, "gemlite_edu", dtype, lambda _: "", prepare, has_levels)


def _prepared(has_levels, dtype, matmul_type, weights, problem):
    nbits = problem.weights.nbits
    levels = [code - 2.0 ** (nbits - 1) for code in range(2**nbits)] if has_levels else None
    format = Format(nbits, levels=levels, group_size=GROUP_SIZE)
    zeros = None if has_levels else weights.zeros
    coded = CodedWeight(format, weights.W_q, weights.scales.half(), zeros)
    layer = GemLiteLinear.from_coded(coded, dtype=dtype)
    call = partial(layer.forward_manual, matmul_type=matmul_type)
    return Prepared(call, tuple(parameter.data for parameter in layer.parameters()))


def microseconds(candidate, problem, card, generator):
    """The median time; "-" where the layer refuses the matmul type."""
    try:
        return f"{measure(candidate, problem, card, generator).timing.p50:.1f}"
    except ValueError:
        return "-"


def main(Ms):
    card, generator = current_card(), torch.Generator("cuda").manual_seed(0)
    print(f"| format | N x K | kernel | {' | '.join(f'M = {M}' for M in Ms)} |")
    print(f"|---|---|---|{'---:|' * len(Ms)}")
    for nbits, has_levels, dtype in FORMATS:
        about = f"{nbits} bits{', levels' * has_levels}, {str(dtype).removeprefix('torch.')}"
        for N, K in SHAPES:
            problems = [Problem(WeightFormat(nbits, GROUP_SIZE), M, N, K) for M in Ms]
            for matmul_type in MATMUL_TYPES:
                candidate = candidate_of(has_levels, dtype, matmul_type)
                times = [microseconds(candidate, p, card, generator) for p in problems]
                print(f"| {about} | {N} x {K} | {matmul_type} | {' | '.join(times)} |", flush=True)
                torch.cuda.empty_cache()


if __name__ == "__main__":
    if not torch.cuda.is_available():
        sys.exit("measuring needs a CUDA GPU that torch sees")
    main(tuple(map(int, sys.argv[1:])) or ROWS)
