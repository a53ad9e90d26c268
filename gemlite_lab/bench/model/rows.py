"""The rows of `make bench-model`: one per shape of model, contender and step, kept as CSV."""

from dataclasses import dataclass
from datetime import date

import torch

from gemlite_lab.bench.candidate import installed_version
from gemlite_lab.bench.measurements import path_of, rows_in


@dataclass(frozen=True)
class ModelRow:
    """One step of one model. Times are microseconds; a refused row has zeros.

    shape: "8B" or "1B". contender, version: whose linear layers, and which; ours has a hash of the
    kernels. weights: "W4 g128" or "W16". dtype: of everything else.
    phase, size: "decode" and how many texts get a token each; "prefill" and the one text's tokens.
    context: tokens before the decoded one; 0 for a prefill.
    p20_us, p50_us, p80_us: a step, compiled and in a CUDA graph. tokens_per_s: from p50_us.
    as_is_us: the step as torch runs it, without torch.compile and CUDA graphs.
    linear_us: the linear layers alone, in a CUDA graph. linear_share: linear_us / p50_us.
    peak_bytes: the most that weights, cache and temporary tensors took at once.
    weight_bytes: what the linear layers must read.
    error: the largest relative error of a layer against dense weights of the same codes.
    equal_tokens: the fraction of greedy tokens that are the dense model's. behind: how far the
    worst one's logit falls below the largest there, in standard deviations.
    read_gb_per_s, matmul_tflops: measured on the card in the same run.
    refused: "", or the reason why there is no time.
    """

    date: str
    device: str
    shape: str
    contender: str
    version: str
    weights: str
    dtype: str
    phase: str
    size: int
    context: int
    p20_us: float
    p50_us: float
    p80_us: float
    tokens_per_s: float
    as_is_us: float
    linear_us: float
    linear_share: float
    peak_bytes: int
    weight_bytes: int
    error: float
    equal_tokens: float
    behind: float
    read_gb_per_s: float
    matmul_tflops: float
    sm_mhz: int
    memory_mhz: int
    torch: str
    triton: str
    transformers: str
    cuda: str
    driver: str
    refused: str

    @property
    def key(self):
        """Which measurement this is: a run does not repeat one whose row is kept."""
        versions = self.version, self.torch, self.triton, self.transformers, self.cuda
        return (self.device, *self.place, *versions)

    @property
    def place(self):
        """(shape, contender, phase, size)."""
        return self.shape, self.contender, self.phase, self.size


def model_path(device):
    """benchmarks/data/model_nvidia_h200.csv for "NVIDIA H200"."""
    return path_of(device, "model")


def read_rows(path):
    """Every `ModelRow` in the CSV at `path`, oldest first. Raises ValueError without a file."""
    if not path.exists():
        raise ValueError(f"there are no rows in {path}: run make bench-model on that GPU")
    return rows_in(path, ModelRow)


def newest_rows(rows):
    """{place: its newest row}, without those of a place whose newest row is a refusal."""
    newest = {row.place: row for row in rows}
    return {place: row for place, row in newest.items() if not row.refused}


def recorded_steps(device):
    """{(shape, contender, phase, size): the newest `ModelRow` of it} recorded on a device, by name.

    Raises ValueError if there are none.
    """
    return newest_rows(read_rows(model_path(device)))


def row_of(shape, contender, cell, card, weight_bytes, result, refused=""):
    """The `ModelRow` of a `Result`; without one, of a refusal."""
    return ModelRow(
        date=str(date.today()),
        device=card.name,
        shape=shape.name,
        contender=contender.name,
        version=contender.version(),
        weights=str(contender.weights),
        dtype=str(contender.dtype).removeprefix("torch."),
        phase=cell.phase,
        size=cell.size,
        context=cell.context,
        **_figures(result, cell),
        weight_bytes=weight_bytes,
        read_gb_per_s=round(card.read_gb_per_s, 1),
        matmul_tflops=round(card.matmul_tflops, 1),
        torch=torch.__version__,
        triton=installed_version("triton"),
        transformers=installed_version("transformers"),
        cuda=torch.version.cuda or "",
        driver=card.driver,
        refused=refused,
    )


def _figures(result, cell):
    """The columns that come from a `Result`; all are 0 without one."""
    if result is None:
        times = ("p20_us", "p50_us", "p80_us", "tokens_per_s", "as_is_us", "linear_us")
        others = ("linear_share", "error", "equal_tokens", "behind")
        whole = dict.fromkeys(("peak_bytes", "sm_mhz", "memory_mhz"), 0)
        return dict.fromkeys((*times, *others), 0.0) | whole
    p50 = result.timing.p50
    return {
        "p20_us": round(result.timing.p20, 2),
        "p50_us": round(p50, 2),
        "p80_us": round(result.timing.p80, 2),
        "tokens_per_s": round(cell.size / p50 * 1e6, 1),
        "as_is_us": round(result.as_is_us, 2),
        "linear_us": round(result.linear_us, 2),
        "linear_share": round(result.linear_us / p50, 3),
        "peak_bytes": result.peak_bytes,
        "error": float(f"{result.error:.3g}"),
        "equal_tokens": round(result.tokens.equal, 4),
        "behind": float(f"{result.tokens.behind:.3g}"),
        "sm_mhz": result.mhz[0],
        "memory_mhz": result.mhz[1],
    }
