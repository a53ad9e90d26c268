"""What takes part in a benchmark: a kernel with what the harness must know of it."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import torch

import gemlite_edu


@dataclass(frozen=True)
class Prepared:
    """A kernel with its weights in place: call(x) returns y; reads: the tensors it must read."""

    call: Callable
    reads: tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Candidate:
    """A kernel that may be measured.

    package: the distribution it comes from. x_dtype: of x and of the scales.
    is_symmetric: its format has no zeros: they must be the middle code.
    build: what tells texts of the same version apart.
    why_not(problem): "" if it computes this problem, else what it takes, in a few words.
    prepare(weights, problem): a `Prepared` for the weights that `Problem.draw_weights` drew.
    """

    name: str
    package: str
    x_dtype: torch.dtype
    why_not: Callable
    prepare: Callable
    is_symmetric: bool = False
    build: str = ""

    def version(self):
        """Version of its package, with its build; "" where the package is not installed."""
        if self.package == "gemlite_edu":
            return gemlite_edu.__version__ + (f"+{self.build}" if self.build else "")
        try:
            return version(self.package)
        except PackageNotFoundError:
            return ""

    def why_not_here(self, problem):
        """Like why_not, and "not installed" where its package is missing."""
        return self.why_not(problem) if self.version() else f"{self.package} is not installed"


def find_candidates():
    """Every `Candidate` of the files in bench/candidates/, by name. ValueError for a name twice."""
    package = importlib.import_module("gemlite_lab.bench.candidates")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = [candidate for module in modules for candidate in module.CANDIDATES]
    twice = {c.name for c in found if [other.name for other in found].count(c.name) > 1}
    if twice:
        raise ValueError(f"bench/candidates/ has two kernels of the name {min(twice)}: rename one")
    return {candidate.name: candidate for candidate in found}
