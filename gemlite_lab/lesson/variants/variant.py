"""`Variant`: a kernel of the course after a change that a learner may well make to it."""

from collections.abc import Callable
from dataclasses import dataclass

from gemlite_edu.kernels.plan import WARP_SIZE, Plan
from gemlite_edu.runners.kernel import Kernel
from gemlite_edu.runners.load import load
from gemlite_lab.bench.problem import WeightFormat
from gemlite_lab.lesson.one_row import one_row_kernel

SHAPES = ((4096, 4096), (14336, 4096), (8192, 8192))


@dataclass(frozen=True)
class Relaunched:
    """A GEMV's spec for one row of x, launched in blocks of `warps` warps and `rows` outputs."""

    spec: object
    warps: int
    rows: int

    def __getattr__(self, name):
        if name == "spec":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.spec, name)

    def plan(self, M, N, K, machine):
        """The `Plan` for y (1, N)."""
        (usual,) = self.spec.plan(M, N, K, machine).launches
        grid = (-(-N // self.rows), 1)
        return Plan((usual._replace(grid=grid, threads=self.warps * WARP_SIZE),))


@dataclass(frozen=True)
class Variant:
    """change: what the learner did. weights: the format. make: a function that gives the `Kernel`.

    launched: (warps of a block, its outputs), None: as the kernel is. shapes: (N, K) to measure.
    """

    name: str
    change: str
    weights: WeightFormat
    make: Callable[[], Kernel]
    launched: tuple[int, int] | None = None
    shapes: tuple[tuple[int, int], ...] = SHAPES

    def kernel(self):
        """The changed kernel, not yet compiled."""
        kernel = self.make()
        if self.launched:
            kernel.spec = Relaunched(kernel.spec, *self.launched)
        return kernel


def edited(name, nbits, *edits):
    """A function that loads the kernel `name` and replaces pieces of its text: (old, new), ..."""

    def make():
        return load(name, nbits=nbits).with_changed_source(lambda source: _changed(source, edits))

    return make


def written(nbits, text):
    """A function that gives the kernel whose __global__ function is `text`, by `one_row_kernel`."""
    return lambda: one_row_kernel(text, nbits)


def _changed(source, edits):
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(f"the text has {source.count(old)} times, expected once: {old}")
        source = source.replace(old, new)
    return source
