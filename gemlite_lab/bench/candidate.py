"""`Candidate`: a kernel that can take part in a benchmark, and the facts the harness needs."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import torch

import gemlite_edu


@dataclass(frozen=True)
class Prepared:
    """A kernel with its weights in place.

    call(x) returns y. reads: the tensors that the kernel must read.
    """

    call: Callable
    reads: tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Candidate:
    """A kernel that may be measured.

    package: the distribution it comes from. x_dtype: the type of x and of the scales.
    is_symmetric: the format stores no zeros, so every zero must be the middle code.
    build: distinguishes kernel texts of the same version.
    why_not(problem): "" if the kernel computes this problem, else the problems that it does take,
        in a few words.
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
        return installed_version(self.package)

    def why_not_here(self, problem):
        """Like why_not, and "not installed" where its package is missing."""
        return self.why_not(problem) if self.version() else f"{self.package} is not installed"


def installed_version(package):
    """Version of a distribution; "" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def find_candidates():
    """{name: `Candidate`} of the files in bench/candidates/.

    Raises ValueError if two candidates have the same name.
    """
    package = importlib.import_module("gemlite_lab.bench.candidates")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = [candidate for module in modules for candidate in module.CANDIDATES]
    twice = {c.name for c in found if [other.name for other in found].count(c.name) > 1}
    if twice:
        raise ValueError(f"bench/candidates/ has two kernels of the name {min(twice)}: rename one")
    return {candidate.name: candidate for candidate in found}
