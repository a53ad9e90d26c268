"""The rows of the learner's own ladder: scores.json beside the record, so in work/.

The file only grows: a text that is scored again at the same shape, in the same way, adds nothing.
"""

import json
import os
from dataclasses import dataclass

from gemlite_lab.bench.measurements import Measurement
from gemlite_lab.lesson.record import place_beside

_FILE = "scores.json"


@dataclass(frozen=True)
class KeptScore:
    """A kernel of the learner's. text: its CUDA source. row: its time, under the name it has here.

    is_measured: whether the row was measured on a GPU, not estimated.
    """

    text: str
    is_measured: bool
    row: Measurement

    @property
    def _kernel(self):
        return self.text, self.row.weights, self.row.x_dtype

    @property
    def _key(self):
        """What makes two scores the same."""
        return *self._kernel, self.row.N, self.row.K, self.row.device, self.is_measured


def kept_scores():
    """Every `KeptScore`, the oldest first. Raises ValueError if the file is damaged."""
    path = place_beside(_FILE)
    if path is None or not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [KeptScore(**entry | {"row": Measurement(**entry["row"])}) for entry in entries]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged ({error}): rename it to start afresh") from None


def keep_score(text, row, is_measured, name=None):
    """Append a row for the kernel of this text, unless it is there; return the name of its row.

    name: what the learner calls it, row.kernel by default. A name that another text has gets a
    number; a text that has a row already keeps its first name. Outside a workbook nothing is kept,
    and the name is None.
    """
    kept, path = kept_scores(), place_beside(_FILE)
    if path is None:
        return None
    new = KeptScore(text, is_measured, row)
    of_kernel = [other.row.kernel for other in kept if other._kernel == new._kernel]
    taken = {other.row.kernel for other in kept}
    named = of_kernel[0] if of_kernel else _free_name(name or row.kernel, taken)
    if new._key not in {other._key for other in kept}:
        own = vars(row) | {"kernel": named}
        _write(path, [*map(_entry, kept), vars(new) | {"row": own}])
    return named


def _entry(kept):
    return vars(kept) | {"row": vars(kept.row)}


def _free_name(name, taken):
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _write(path, entries):
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(entries, indent=1), encoding="utf-8")
    unfinished.replace(path)
