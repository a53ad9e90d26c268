"""A run: part after part, each the steps of one shape with one contender; kept rows stay."""

import time
import traceback

import torch

from gemlite_lab.bench.measurements import append
from gemlite_lab.bench.measuring import Refused
from gemlite_lab.bench.model.build import build
from gemlite_lab.bench.model.contenders import CONTENDERS
from gemlite_lab.bench.model.gauges import Gauges
from gemlite_lab.bench.model.measure import CELLS, measure
from gemlite_lab.bench.model.rows import read_rows, row_of
from gemlite_lab.bench.run import in_one_line


class Run:
    """Measures on one device and appends every row to the CSV at `path` as soon as it has it.

    card: its `Card`. ends_at: the `time.monotonic()` from which no further step is begun.
    """

    def __init__(self, device, card, path, ends_at=float("inf"), gauges=None, cells=CELLS):
        self._device, self._card, self._path = device, card, path
        self._ends_at, self._gauges, self._cells = ends_at, gauges or Gauges(), cells
        self._reference = self._shape_of_reference = None
        self.rows = []

    def part(self, shape, contender):
        """Measure what no kept row has; returns False if the time is up or the GPU has failed."""
        kept = {row.key for row in read_rows(self._path)} if self._path.exists() else set()
        todo = [cell for cell in self._cells if self._row(shape, contender, cell).key not in kept]
        name = f"{shape.name}-{contender.name}"
        print(f"{name}: {len(todo)} steps to measure, {len(self._cells) - len(todo)} kept")
        if not todo:
            return True
        if self._is_late():
            return False
        began = time.monotonic()
        self._build_reference(shape)
        torch._dynamo.reset()  # what it compiled for the last part keeps that part's model
        held = self._gauges.memory.held()
        try:
            built = build(shape, contender, self._device)
        except Exception as error:  # a peer may raise anything; its other steps would raise it too
            traceback.print_exc()
            return all([self._fail(shape, contender, cell, error) for cell in todo])
        print(f"{name}: built in {time.monotonic() - began:.0f} s")
        for cell in todo:
            if self._is_late() or not self._measure(shape, contender, cell, built, held):
                return False
        return True

    def _is_late(self):
        if time.monotonic() < self._ends_at:
            return False
        print("the time is up: the next run goes on here")
        return True

    def _build_reference(self, shape):
        """Have dense weights of the same codes ready, of one shape at a time."""
        if self._shape_of_reference != shape:
            self._reference = None  # frees the last one first
            self._reference = build(shape, CONTENDERS["fp16"], self._device)
            self._shape_of_reference = shape

    def _measure(self, shape, contender, cell, built, held):
        """Keep a row; False if the GPU does nothing more in this process."""
        began = time.monotonic()
        of_cell = shape, built, self._reference, cell, self._card, held, self._gauges
        try:
            result = measure(*of_cell)
        except Refused as reason:
            self._keep(self._row(shape, contender, cell, refused=str(reason)), began)
        except Exception as error:
            traceback.print_exc()
            return self._fail(shape, contender, cell, error)
        else:
            nbytes = built.weight_bytes
            self._keep(self._row(shape, contender, cell, nbytes, result), began)
        return True

    def _fail(self, shape, contender, cell, error):
        """Keep a row of a step that raised; False if the GPU does nothing more in this process."""
        reason = f"it raised {in_one_line(error)}"
        self._keep(self._row(shape, contender, cell, refused=reason), time.monotonic())
        if "CUDA error" not in str(error):
            return True
        print("the GPU does nothing more in this process: run it again for the other steps")
        return False

    def _row(self, shape, contender, cell, nbytes=0, result=None, refused=""):
        return row_of(shape, contender, cell, self._card, nbytes, result, refused)

    def _keep(self, row, began):
        append(self._path, row)
        self.rows.append(row)
        said = row.refused or f"{row.p50_us:.0f} us, {row.tokens_per_s:.0f} tokens/s"
        seconds = f"{time.monotonic() - began:.0f} s"
        print(f"{row.shape} {row.contender}, {row.phase} {row.size}: {said} ({seconds})")


def run_parts(parts, run):
    """Measure the parts one after the other; a contender that is not installed gets a sentence.

    Returns the contenders that were left out.
    """
    missing = {c.name: c.why_not() for _, c in parts if c.why_not()}
    print("\n".join(missing.values()), end="\n" if missing else "")
    for shape, contender in parts:
        if contender.name not in missing and not run.part(shape, contender):
            break
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return missing
