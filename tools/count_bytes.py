"""Count the bytes that the fast GEMV reads of 1 to 8 bits, by Nsight Compute on this GPU.

python tools/count_bytes.py         (writes benchmarks/data/bytes_read_<device>.json; needs ncu)
python tools/count_bytes.py table   (writes the table of docs/kernels.md from it)
"""

import json
import re
import shutil
import sys
from datetime import date
from itertools import product
from pathlib import Path

import torch

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests" / "gpu"))

from counters import count_launches, ncu_version  # noqa: E402

from gemlite_lab.bench.candidate import find_candidates  # noqa: E402
from gemlite_lab.bench.problem import Problem, WeightFormat  # noqa: E402

KERNEL, GROUP_SIZE, WIDTHS = "gemv_a16wn_fast", 128, range(1, 9)
SHAPES = ((4096, 4096), (3584, 18944), (14336, 4096))  # N, K: the second and third of real models
METRICS = {"bytes from memory": "dram__bytes_read.sum"}
PAGE = ROOT / "docs" / "kernels.md"
BEGIN, END = "<!-- bytes read: python tools/count_bytes.py table -->", "<!-- end of bytes read -->"


def least_bytes(nbits, N, K):
    """What one row of x must read: codes without an idle bit, scales, zeros, and x in fp16."""
    return N * K * nbits // 8 + 2 * 2 * N * K // GROUP_SIZE + 2 * K


def path_of(device):
    """The record of a device."""
    name = re.sub(r"\W+", "_", device.lower())
    return ROOT / "benchmarks" / "data" / f"bytes_read_{name}.json"


def count():
    """Write the record of this GPU."""
    if not torch.cuda.is_available() or not shutil.which("ncu"):
        sys.exit("counting needs a CUDA GPU that torch sees, and ncu, Nsight Compute's command")
    launch_all()  # compiles
    counted = count_launches([sys.executable, __file__, "launch"], METRICS)
    rows = [
        {"nbits": nbits, "N": N, "K": K, **counters}
        for ((N, K), nbits), counters in zip(product(SHAPES, WIDTHS), counted, strict=True)
    ]
    device = torch.cuda.get_device_name()
    about = {"device": device, "date": str(date.today()), "ncu": ncu_version()}
    record = about | {"kernel": KERNEL, "metrics": METRICS, "rows": rows}
    path_of(device).write_text(json.dumps(record, indent=1) + "\n")
    print("\n".join(table(record)))


def launch_all():
    """Launch the kernel once for each shape and width, for ncu to watch."""
    generator = torch.Generator("cuda").manual_seed(0)
    candidate = find_candidates()[KERNEL]
    for (N, K), nbits in product(SHAPES, WIDTHS):
        problem = Problem(WeightFormat(nbits, GROUP_SIZE), 1, N, K)
        weights = problem.draw_weights(candidate.x_dtype, generator)
        candidate.prepare(weights, problem).call(problem.draw_x(candidate.x_dtype, generator))
    torch.cuda.synchronize()


def table(record):
    """The lines of the table in Markdown: bytes read, as a multiple of the least."""
    yield f"{record['device']}, {record['date']}, Nsight Compute {record['ncu'].split()[1]}, M = 1:"
    yield ""
    yield f"| bytes read / least, by bits | {' | '.join(map(str, WIDTHS))} |"
    yield f"|---|{'---:|' * len(WIDTHS)}"
    for N, K in SHAPES:
        of_shape = [row for row in record["rows"] if (row["N"], row["K"]) == (N, K)]
        shares = [row["bytes from memory"] / least_bytes(row["nbits"], N, K) for row in of_shape]
        yield f"| {N} x {K} | {' | '.join(f'{share:.3f}' for share in shares)} |"


def page_with_table(text):
    """The page's text with a new table between its marks."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    record = json.loads(path_of("NVIDIA H200").read_text())
    return "\n".join([before + BEGIN, *table(record), END]) + after


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["launch"]:
            launch_all()
        case ["table"]:
            PAGE.write_text(page_with_table(PAGE.read_text()))
        case _:
            count()
