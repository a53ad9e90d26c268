"""How long the learner waits, in seconds: from a changed hole to an answer, and from the cache.

    make speed        (or: python tools/loop_speed.py)

One 4-bit GEMV of 4096 x 4096, M = 1, on the simulator and on the GPU if there is one; and one of
256 x 4096 under the simulator's instruments.
"""

import subprocess
import sys
import time

import torch

from gemlite_edu import info, load, pack_warped_int32, sources

_KERNEL, _HOLE, _SIZE = "gemv_a16wn_fp32", "dequant_dot", 4096
_LOAD = """
import time
import torch
from gemlite_edu.kernels import load
torch.{initialize}
start = time.perf_counter()
load("gemv_a16wn_fp32", nbits=4, device="{device}")
print(time.perf_counter() - start)
"""


def edit_to_answer(device, W_packed, x):
    """Seconds from a text never seen before to y, compile included."""
    text = sources.hole(_HOLE, _KERNEL) + f"// changed at {time.time_ns()}\n"
    start = time.perf_counter()
    load(_KERNEL, nbits=4, replace={_HOLE: text})(x.to(device), W_packed.to(device), 1.0, 8.0).cpu()
    return time.perf_counter() - start


def edit_to_report(W_packed, x):
    """Seconds from a text never seen before to the report of an inspected run, compile included."""
    text = sources.hole(_HOLE, _KERNEL) + f"// changed at {time.time_ns()}\n"
    start = time.perf_counter()
    load(_KERNEL, nbits=4, replace={_HOLE: text}).inspect(x, W_packed, 1.0, 8.0)
    return time.perf_counter() - start


def load_in_new_process(device):
    """Seconds that load() of an unchanged kernel takes in a new process."""
    initialize = "cuda.init()" if device == "cuda" else "zeros(1)"
    code = _LOAD.format(device=device, initialize=initialize)
    return float(subprocess.check_output([sys.executable, "-c", code], text=True))


def figures():
    """{figure: seconds}, the median of three."""
    torch.manual_seed(0)
    W_q = torch.randint(0, 16, (_SIZE, _SIZE), dtype=torch.uint8)
    W_packed, x = pack_warped_int32(W_q, 4), torch.randn(1, _SIZE).half()
    found = {
        "simulator: changed hole to report, 256 rows": median(
            edit_to_report(W_packed[:256], x) for _ in range(3)
        )
    }
    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        load(_KERNEL, nbits=4)(x.to(device), W_packed.to(device), 1.0, 8.0)
        where = "simulator" if device == "cpu" else "GPU"
        found[f"{where}: changed hole to answer"] = median(
            edit_to_answer(device, W_packed, x) for _ in range(3)
        )
        found[f"{where}: unchanged kernel, new process"] = median(
            load_in_new_process(device) for _ in range(3)
        )
    return found


def median(values):
    return sorted(values)[1]


if __name__ == "__main__":
    print(info.report())
    for name, seconds in figures().items():
        print(f"{name}: {seconds:.2f} s")
