"""How many seconds the learner waits for an answer after changing a kernel, or with a warm cache.

It runs a 4-bit GEMV of 4096 x 4096, M = 1, in the simulator and on the GPU if there is one; a GEMV
of 256 x 4096 under the simulator's instruments; and a Triton GEMV in the interpreter.
"""

import statistics
import subprocess
import sys
import tempfile
import time

import torch

from gemlite_edu.kernels import sources
from gemlite_edu.packing import pack_warped_int32
from gemlite_edu.runners import info
from gemlite_edu.runners.load import load
from gemlite_lab.bench import interpreter_loop

RUNS = 3  # for each figure
_KERNEL, _HOLE, _SIZE = "gemv_a16wn_fp32", "dequant_dot", 4096
_LOAD = """
import time
import torch
from gemlite_edu import load
torch.{initialize}
start = time.perf_counter()
load("gemv_a16wn_fp32", nbits=4, device="{device}")
print(time.perf_counter() - start)
"""


def print_figures():
    """Print the machine and every figure."""
    print(info.report())
    print("\nThere is no GPU here: these are seconds that you wait, and say nothing of GPU speed.")
    for name, seconds in figures().items():
        print(f"{name}: {seconds:.3f} s")


def figures():
    """{figure: seconds}; each figure is the median of its runs."""
    torch.manual_seed(0)
    W_q = torch.randint(0, 16, (_SIZE, _SIZE), dtype=torch.uint8)
    W_packed, x = pack_warped_int32(W_q, 4), torch.randn(1, _SIZE).half()
    found = {
        "simulator: changed hole to report, 256 rows": _median(
            lambda: _edit_to_report(W_packed[:256], x)
        )
    }
    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        kernel = load(_KERNEL, nbits=4, device=device)
        where = "simulator" if device == "cpu" else "GPU"
        found |= {
            f"{where}: a run": _median(
                lambda device=device, kernel=kernel: _answer(kernel, device, W_packed, x)
            ),
            f"{where}: changed hole to answer": _median(
                lambda device=device: _edit_to_answer(device, W_packed, x)
            ),
            f"{where}: unchanged kernel, new process": _median(
                lambda device=device: _load_in_new_process(device)
            ),
        }
    changed, again = _interpreter_loop()
    found["Triton interpreter: changed function to answer"] = changed
    found["Triton interpreter: a run"] = again
    return found


def _median(measure):
    return statistics.median(measure() for _ in range(RUNS))


def _answer(kernel, device, W_packed, x):
    start = time.perf_counter()
    kernel(x.to(device), W_packed.to(device), 1.0, 8.0).cpu()
    return time.perf_counter() - start


def _edit_to_answer(device, W_packed, x):
    start = time.perf_counter()
    _answer(_changed_kernel(), device, W_packed, x)
    return time.perf_counter() - start


def _edit_to_report(W_packed, x):
    start = time.perf_counter()
    _changed_kernel().inspect(x, W_packed, 1.0, 8.0)
    return time.perf_counter() - start


def _changed_kernel():
    """The kernel, not compiled yet, with a text in its hole that no cache has seen."""
    text = sources.hole(_HOLE, _KERNEL) + f"// changed at {time.time_ns()}\n"
    return load(_KERNEL, nbits=4, replace={_HOLE: text})


def _load_in_new_process(device):
    """Seconds that load() of an unchanged kernel takes in a new process."""
    initialize = "cuda.init()" if device == "cuda" else "zeros(1)"
    return _number_of("-c", _LOAD.format(device=device, initialize=initialize))


def _interpreter_loop():
    """Medians: (from a changed function to an answer, a run)."""
    case = interpreter_loop.problem()
    with tempfile.TemporaryDirectory() as folder:
        found = [interpreter_loop.seconds(folder, *case) for _ in range(RUNS)]
    return [statistics.median(column) for column in zip(*found, strict=True)]


def _number_of(*arguments):
    """The number that a new Python process prints."""
    return float(subprocess.check_output([sys.executable, *arguments], text=True))
