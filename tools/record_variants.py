"""Time a set of gemlite_lab.lesson.variants on this GPU, by the method of `make bench`.

python tools/record_variants.py SET PATH (writes the record to PATH; 2 minutes on 16 cores)

SET is a name of SETS, such as second. The record belongs to gemlite_lab/data, as
variants_SET_nvidia_h200.json. One variant that fails is reported and left out; the others go on.
"""

import json
import os
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import torch

from gemlite_lab.bench.candidate import Candidate, Prepared
from gemlite_lab.bench.card import current_card
from gemlite_lab.bench.operands import operands_of
from gemlite_lab.bench.problem import Problem
from gemlite_lab.bench.run import run
from gemlite_lab.lesson.variants import SETS

_FIELDS = ("kernel", "weights", "N", "K", "p20_us", "p50_us", "p80_us", "bytes", "error", "copies")
_SHARED = ("date", "device", "read_gb_per_s", "sm_mhz", "memory_mhz", "torch", "cuda", "driver")


def main(name, path):
    start, variants = time.perf_counter(), SETS[name]
    compiled = compile_all(variants)
    print(f"{len(compiled)} of {len(variants)} compiled in {time.perf_counter() - start:.0f} s")
    cells = [
        (candidate_of(variant), Problem(variant.weights, 1, N, K))
        for variant in compiled
        for N, K in variant.shapes
    ]
    with tempfile.TemporaryDirectory() as folder:
        rows, failures = run(cells, current_card(), Path(folder) / "variants.csv")
    for candidate, problem, error in failures:
        print(f"{candidate.name}, {problem}: it raised {error}")
    for row in rows:
        print(f"{row.weights} {row.N}x{row.K} {row.kernel}: {row.p50_us} us {row.refused}")
    kept = [vars(row) for row in rows if not row.refused]
    if not kept:
        sys.exit("no variant was measured: see above")
    write(path, kept, variants)
    print(f"{len(rows)} rows in {time.perf_counter() - start:.0f} s, written to {path}")


def write(path, rows, variants):
    """Write the measurements, and what they share only once."""
    record = {name: rows[0][name] for name in _SHARED}
    record["changes"] = {variant.name: variant.change for variant in variants}
    record["rows"] = [{name: row[name] for name in _FIELDS} for row in rows]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def candidate_of(variant):
    """The variant as a `Candidate`."""
    kernel = variant.kernel()
    prepare = partial(prepared, kernel)
    return Candidate(variant.name, "gemlite_edu", kernel.x_dtype, lambda _: "", prepare)


def prepared(kernel, weights, problem):
    """The kernel with its own copy of the weights."""
    operands = operands_of(kernel, weights)
    return Prepared(lambda x: kernel(x, *operands), operands)


def compile_all(variants):
    """Compile the variants, side by side; returns those that compile."""
    names = [variant.name for variant in variants]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        errors = list(pool.map(why_not_compiled, names))
    for name, error in zip(names, errors, strict=True):
        if error:
            print(f"{name} is left out:\n{error}")
    return [v for v, error in zip(variants, errors, strict=True) if not error]


def why_not_compiled(name):
    """The traceback of compiling a variant for this GPU; "" if there is none."""
    try:
        device = torch.device("cuda", torch.cuda.current_device())
        variant = next(one for own in SETS.values() for one in own if one.name == name)
        for N, K in variant.shapes:
            variant.kernel().compile_for_gpu(device, 1, N, K)
    except Exception:  # the others go on
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in SETS:
        sys.exit(f"usage: python tools/record_variants.py {'|'.join(SETS)} PATH")
    if not torch.cuda.is_available():
        sys.exit("measuring needs a CUDA GPU that torch sees")
    main(*sys.argv[1:])
