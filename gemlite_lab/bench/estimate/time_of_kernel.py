"""`estimate`: from a laptop, the time of a kernel on a card, with its derivation."""

import re
from dataclasses import dataclass

from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.holes import without_comments
from gemlite_edu.runners.kernel import Kernel
from gemlite_lab.bench.estimate.counts import count
from gemlite_lab.bench.estimate.model import Term, power_of, terms, time_of
from gemlite_lab.bench.estimate.record import calibration
from gemlite_lab.bench.estimate.rung_counts import count_rung
from gemlite_lab.bench.ladder import RungKernel

_NOT_COUNTED = (
    (re.compile(r"\b(?:wmma|nvcuda)\b"), "it multiplies on tensor cores"),
    (re.compile(r"\basm\b"), "nobody counts its asm, such as products on tensor cores"),
    (re.compile(r"\batomic\w+\s*\("), "atomic operations wait for each other in the L2"),
    (re.compile(r"\b(?:__pipeline_\w+|memcpy_async)\b"), "it copies while it computes"),
)
_ROOTS = {2: "the root of the squares", 4: "the fourth root of the fourth powers"}


@dataclass(frozen=True)
class Estimate:
    """us: the time; low, high: its interval; terms: where it comes from. `print` shows a table."""

    title: str
    us: float
    low: float
    high: float
    terms: tuple[Term, ...]
    rule: str

    def __str__(self):
        rows = [f"{term.name:8}{term.us:8.2f} us  {term.why}" for term in self.terms]
        total = f"{'time':8}{self.us:8.2f} us  {self.rule}: {self.low:.2f} to {self.high:.2f} us"
        return "\n".join([self.title, *rows, total])


@dataclass(frozen=True)
class NotModelled:
    """A kernel whose time the model does not know, and why."""

    why: str

    def __str__(self):
        return f"not modelled: {self.why}"


def estimate(kernel, N=4096, K=4096, M=1, device="H200"):
    """The time of a call for one row of x and weights (N, K), caches cold: an `Estimate`.

    kernel: a GEMV from `load`, with your texts in its holes or not; a `one_row_kernel`; or a
    `RungKernel`. The simulator runs one block and counts what it does, and the time follows from
    that: see model.py. Returns `NotModelled` for other kernels, and raises the simulator's errors
    for a wrong one.
    """
    card, parameters, factor = calibration(device)
    why = why_not(kernel, M)
    if why:
        return NotModelled(why)
    is_rung = isinstance(kernel, RungKernel)
    counts = (count_rung if is_rung else count)(kernel, N, K)
    found, power = terms(counts, card, parameters), power_of(counts, card)
    us = time_of(found, power)
    rule = f"start + {_ROOTS[power]} of the others"
    name = kernel.rung.name if is_rung else kernel.name
    title = f"{name}, N = {N}, K = {K}, on an {device}, weights from memory:"
    return Estimate(title, us, us / factor, us * factor, found, rule)


def why_not(kernel, M=1):
    """Why the model does not cover this kernel; "" if it does."""
    if not isinstance(kernel, Kernel):
        return f"it takes CUDA kernels that `load` returned, not {type(kernel).__name__}"
    if M != 1:
        return f"it knows one row of x, not {M}: they share the weights that come"
    if isinstance(kernel, RungKernel):
        return ""
    text = without_comments(kernel.source)
    for words, why in _NOT_COUNTED:
        if words.search(text):
            return why
    if kernel.name not in KERNELS and kernel.name != "fused_gemv":
        return f"{kernel.name} is not one of {', '.join(KERNELS)}"
    return ""
