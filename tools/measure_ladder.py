"""Time every rung of the ladder on this GPU, by the method of `make bench`; about a minute.

python tools/measure_ladder.py (writes gemlite_lab/data/ladder_<device>.json)
"""

import hashlib
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import torch

from gemlite_edu import load
from gemlite_edu.kernels import holes
from gemlite_lab.bench.candidate import Candidate, Prepared, find_candidates
from gemlite_lab.bench.card import current_card
from gemlite_lab.bench.ladder import RungKernel, path_of, rungs, write
from gemlite_lab.bench.ladder.kernel import GROUP_SIZE
from gemlite_lab.bench.problem import Problem, WeightFormat
from gemlite_lab.bench.run import run

SHAPES = {
    4: [(4096, 4096), (14336, 4096), (8192, 8192), (16384, 16384)],
    2: [(4096, 4096), (8192, 8192), (16384, 16384)],
    1: [(4096, 4096), (8192, 8192), (16384, 16384)],
}


def main():
    try:
        card = current_card()
    except ValueError as error:
        sys.exit(str(error))
    compile_all()
    with tempfile.TemporaryDirectory() as folder:
        rows, failures = run(cells(), card, Path(folder) / "ladder.csv")
    for candidate, problem, error in failures:
        print(f"{candidate.name}, {problem}: it raised {error}")
    for row in rows:
        print(f"{row.weights} {row.N}x{row.K} {row.kernel}: {row.p50_us} us {row.refused}")
    write(rows)
    print(f"{len(rows)} rows written to {path_of(card.name)}")


def every_rung():
    """[(bits per code, rung)]."""
    return [(nbits, rung) for nbits in SHAPES for rung in rungs(nbits)]


def cells():
    """[(candidate, problem)] for the harness."""
    return [
        (candidate_of(nbits, rung), Problem(WeightFormat(nbits, GROUP_SIZE), 1, N, K))
        for nbits, rung in every_rung()
        for N, K in SHAPES[nbits]
    ]


def candidate_of(nbits, rung):
    """The rung as a `Candidate`; its build is a hash of its code without comments."""
    if not rung.edits and rung.shape is None:
        return replace(find_candidates()[rung.kernel], name=rung.name)
    kernel = kernel_of(nbits, rung)
    code = " ".join(holes.without_comments(kernel.source).split())
    build = hashlib.sha256(f"{code} {rung.shape}".encode()).hexdigest()[:8]
    prepare = partial(prepared, kernel)
    return Candidate(rung.name, "gemlite_edu", torch.float16, lambda _: "", prepare, build=build)


def prepared(kernel, weights, problem):
    """The rung with its own copy of the weights."""
    operands = kernel.pack(weights.W_q, weights.scales, weights.zeros)
    return Prepared(lambda x: kernel(x, *operands), operands)


@cache
def kernel_of(nbits, rung):
    if rung.shape is None:
        return load(rung.kernel, nbits, group_size=GROUP_SIZE)
    return RungKernel(rung, nbits)


def compile_all():
    """Compile every library, side by side; load_inline is not safe in two threads."""
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        list(pool.map(compile_rung, *zip(*every_rung(), strict=True)))


def compile_rung(nbits, rung):
    kernel_of(nbits, rung).compile_for_gpu(torch.device("cuda", torch.cuda.current_device()))


if __name__ == "__main__":
    main()
