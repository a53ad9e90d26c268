"""Nsight Compute's counters of every rung of the ladder on this GPU; half a minute.

python tools/count_ladder.py (writes gemlite_lab/data/ladder_counts_<device>.json; needs ncu)
"""

import shutil
import sys
from datetime import date
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "gpu"))

from counters import count_launches, ncu_version
from measure_ladder import candidate_of, compile_all, every_rung

from gemlite_lab.bench import ladder
from gemlite_lab.bench.ladder.kernel import GROUP_SIZE
from gemlite_lab.bench.problem import Problem, WeightFormat

N = K = 4096
METRICS = {
    "instructions": "smsp__inst_executed.sum",
    "global loads": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "bytes from memory": "dram__bytes_read.sum",
}


def main():
    if not torch.cuda.is_available() or not shutil.which("ncu"):
        sys.exit("counting needs a CUDA GPU that torch sees, and ncu, Nsight Compute's command")
    compile_all()
    counted = count_launches([sys.executable, __file__, "launch"], METRICS)
    rungs = {}
    for (nbits, rung), counters in zip(every_rung(), counted, strict=True):
        rungs.setdefault(str(nbits), {})[rung.name] = counters
        print(nbits, rung.name, counters)
    about = {"device": torch.cuda.get_device_name(), "date": str(date.today())}
    about |= {"ncu": ncu_version(), "N": N, "K": K, "metrics": METRICS}
    print("written to", ladder.write_counts(about | {"rungs": rungs}))


def launch_all():
    """Launch every rung once, for ncu to watch."""
    generator = torch.Generator("cuda").manual_seed(0)
    for nbits, rung in every_rung():
        candidate = candidate_of(nbits, rung)
        problem = Problem(WeightFormat(nbits, GROUP_SIZE), 1, N, K)
        weights = problem.draw_weights(candidate.x_dtype, generator)
        candidate.prepare(weights, problem).call(problem.draw_x(candidate.x_dtype, generator))
    torch.cuda.synchronize()


if __name__ == "__main__":
    if sys.argv[1:] == ["launch"]:
        launch_all()
    else:
        main()
