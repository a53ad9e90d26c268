"""The recorded times of the variants, by tools/record_variants.py."""

import json
from pathlib import Path
from typing import NamedTuple

from gemlite_lab.lesson.variants import SETS, Variant

_FOLDER = Path(__file__).parents[2] / "data"


class Recorded(NamedTuple):
    """A measured variant. us: the median time."""

    variant: Variant
    N: int
    K: int
    us: float

    @property
    def key(self):
        """What names it in the record of a calibration."""
        return self.variant.name, str(self.variant.weights), self.N, self.K


def path_of(name):
    """The file of the record of a set."""
    return _FOLDER / f"variants_{name}_nvidia_h200.json"


def recorded(name):
    """A `Recorded` for each measured shape of the set `name`; none if nobody measured it yet."""
    if not path_of(name).exists():
        return []
    record = json.loads(path_of(name).read_text(encoding="utf-8"))
    of_name = {variant.name: variant for variant in SETS[name]}
    return [
        Recorded(of_name[row["kernel"]], row["N"], row["K"], row["p50_us"])
        for row in record["rows"]
    ]
