"""A benchmark run: measure each kernel on each problem that it takes, and keep row after row."""

from datetime import date

import torch
from tqdm import tqdm

from gemlite_lab.bench.candidate import installed_version
from gemlite_lab.bench.measurements import Measurement, append
from gemlite_lab.bench.measuring import Refused, measure
from gemlite_lab.bench.problem import Problem

_LONGEST_REASON = 300


def problems_of(formats, shapes, Ms, transposed):
    """The `Problem`s of these lists whose K is a whole number of groups, each once."""
    return [
        Problem(format, M, N, K, transposed)
        for format in dict.fromkeys(formats)
        for N, K in dict.fromkeys(shapes)
        for M in dict.fromkeys(Ms)
        if format.divides(K)
    ]


def cells_of(candidates, problems):
    """[(candidate, problem)] of every candidate that takes a problem, problem by problem."""
    return [(c, p) for p in problems for c in candidates if not c.why_not_here(p)]


def run(cells, card, path):
    """Measure each cell and append its row to the CSV at `path`; returns (rows, failures).

    failures: [(candidate, problem, exception)]; a kernel that raises gets no row. Ctrl-C ends the
    run, and so does an error after which the GPU no longer answers; the rows so far are on disk.
    """
    rows, failures = [], []
    progress = tqdm(cells, unit="kernel")
    try:
        for candidate, problem in progress:
            progress.set_description(f"{candidate.name}, {problem}")
            try:
                row = measured(candidate, problem, card)
            except Exception as error:  # a peer may raise anything; the run goes on to the next one
                failures.append((candidate, problem, in_one_line(error)))
                if "CUDA error" in str(error):
                    print("the GPU does nothing more in this process: the run ends here")
                    break
                continue
            append(path, row)
            rows.append(row)
            torch.cuda.empty_cache()
    except KeyboardInterrupt:
        print(f"stopped: {len(rows)} of {len(cells)} measured")
    progress.close()
    return rows, failures


def in_one_line(error):
    first_line = str(error).strip().partition("\n")[0][:_LONGEST_REASON]
    return f"{type(error).__name__}: {first_line}"


def measured(candidate, problem, card):
    """The `Measurement` of a candidate, with its time or with the reason why there is none."""
    generator = torch.Generator("cuda")
    seed = generator.seed() % 2**32
    generator.manual_seed(seed)
    try:
        result, refused = measure(candidate, problem, card, generator), ""
    except Refused as reason:
        result, refused = None, str(reason)
    return row_of(candidate, problem, card, result, refused, seed)


def row_of(candidate, problem, card, result, refused, seed):
    """The `Measurement` of a result, or of a refusal if there is no result."""
    return Measurement(
        date=str(date.today()),
        device=card.name,
        kernel=candidate.name,
        version=candidate.version(),
        weights=str(problem.weights),
        transposed=problem.transposed,
        M=problem.M,
        N=problem.N,
        K=problem.K,
        x_dtype=str(candidate.x_dtype).removeprefix("torch."),
        **_figures(result),
        read_gb_per_s=round(card.read_gb_per_s, 1),
        matmul_tflops=round(card.matmul_tflops, 1),
        seed=seed,
        torch=torch.__version__,
        triton=installed_version("triton"),
        cuda=torch.version.cuda or "",
        driver=card.driver,
        refused=refused,
    )


def _figures(result):
    """The columns of a `Measurement` that come from a result; all are 0 without one."""
    if result is None:
        times = dict.fromkeys(("p20_us", "p50_us", "p80_us", "gb_per_s", "error"), 0.0)
        return times | dict.fromkeys(("bytes", "copies", "sm_mhz", "memory_mhz"), 0)
    return {
        "p20_us": round(result.timing.p20, 3),
        "p50_us": round(result.timing.p50, 3),
        "p80_us": round(result.timing.p80, 3),
        "bytes": result.nbytes,
        "gb_per_s": round(result.nbytes / result.timing.p50 / 1e3, 1),
        "error": float(f"{result.error:.3g}"),
        "copies": result.copies,
        "sm_mhz": result.mhz[0],
        "memory_mhz": result.mhz[1],
    }
