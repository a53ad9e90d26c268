"""The measurements of `make bench`: one CSV row per kernel, weights, shape, M and device."""

import csv
import fcntl
import io
import os
from dataclasses import dataclass, fields
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent.parent
# In the repository, or in the current folder if the package is installed without one.
FOLDER = (_ROOT if (_ROOT / "benchmarks").is_dir() else Path()) / "benchmarks" / "data"


@dataclass(frozen=True)
class Measurement:
    """One kernel on one problem. Times are microseconds per call; a refused row has zeros.

    kernel, version: the kernel's name, and its package's version ("humming", "0.1.19").
    weights: "W4 g128" is 4 bits, groups of 128; "W4" one scale and zero per channel; "W16" fp16.
    transposed: the product is x W, x (M, N), y (M, K), instead of x Wᵀ, x (M, K), y (M, N).
    bytes: the bytes that this kernel must move: its own weights, scales and zeros, x and y.
    gb_per_s: bytes / p50_us. read_gb_per_s: the fastest read measured on the card in the same run.
    matmul_tflops: the rate of a large fp16 matrix product, measured in the same run.
    error: ||y - y64|| / ||y64|| against fp64, over the timed inputs.
    copies: how many copies of the weights the calls rotated over. seed: of the random operands.
    sm_mhz, memory_mhz: the clocks right after the timed replays; 0 if the driver does not answer.
    refused: "", or the reason why there is no time.
    """

    date: str
    device: str
    kernel: str
    version: str
    weights: str
    transposed: bool
    M: int
    N: int
    K: int
    x_dtype: str
    p20_us: float
    p50_us: float
    p80_us: float
    bytes: int
    gb_per_s: float
    read_gb_per_s: float
    matmul_tflops: float
    error: float
    copies: int
    seed: int
    sm_mhz: int
    memory_mhz: int
    torch: str
    triton: str
    cuda: str
    driver: str
    refused: str

    @property
    def problem(self):
        """(weights, transposed, M, N, K): the problem, which does not depend on the kernel."""
        return self.weights, self.transposed, self.M, self.N, self.K

    @property
    def fraction(self):
        """The fraction of the measured read bandwidth that the kernel reached."""
        return self.gb_per_s / self.read_gb_per_s


_PARSE = {float: float, int: int, str: str, bool: lambda text: text == "True"}


def path_of(device, kind="bench"):
    """The file for measurements on `device`: benchmarks/data/bench_nvidia_h200.csv."""
    name = "".join(c if c.isalnum() else "_" for c in device.lower())
    return FOLDER / f"{kind}_{name}.csv"


def append(path, row):
    """Add a row, a dataclass, to the CSV at `path`. It is on disk on return, so an interrupted run
    keeps it.

    Several runs may append at once. Raises ValueError if the file has other columns.
    """
    columns = [field.name for field in fields(row)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", newline="", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        before = file.read()
        if before and before.partition("\n")[0] != ",".join(columns):
            raise ValueError(f"{path} has other columns than this version writes: move it away")
        line_end = "" if not before or before.endswith("\n") else "\n"  # of a row cut short
        file.write(line_end + ("" if before else _line(columns)) + _line(vars(row).values()))
        file.flush()
        os.fsync(file.fileno())


def _line(values):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([str(v).replace("\n", " ") for v in values])
    return text.getvalue()


def read(path):
    """Every `Measurement` in the CSV at `path`, oldest first.

    It skips a row that a full disk cut short, and says so. Raises ValueError without a file.
    """
    if not path.exists():
        recorded = ", ".join(other.name for other in sorted(FOLDER.glob("bench_*.csv")))
        raise ValueError(f"there is no {path}: run make bench; there are {recorded or 'none yet'}")
    return rows_in(path, Measurement)


def rows_in(path, kind):
    """Every row of the CSV at `path` as a `kind`, a dataclass like `Measurement`, oldest first."""
    found = []
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            if None in row or None in row.values():
                print(f"{path.name}: row {number} is cut short and left out")
            else:
                found.append(_parse(row, kind))
    return found


def _parse(row, kind):
    return kind(**{f.name: _PARSE[f.type](row[f.name]) for f in fields(kind)})


def newest(measurements):
    """The last row of each kernel and problem, in the order of first appearance."""
    found = {}
    for row in measurements:
        found[row.kernel, row.problem] = row
    return list(found.values())


def latest(measurements):
    """The newest rows that have a time, so none of a kernel whose newest row is a refusal."""
    return [row for row in newest(measurements) if not row.refused]


def of_squares(device):
    """{(kernel, weights, N, M): newest `Measurement`} of y = x Wᵀ with N = K on `device`."""
    rows = latest(read(path_of(device)))
    square = [row for row in rows if row.N == row.K and not row.transposed]
    return {(row.kernel, row.weights, row.N, row.M): row for row in square}
