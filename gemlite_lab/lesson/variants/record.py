"""The recorded times of the variants, by tools/record_variants.py."""

import json
from pathlib import Path
from typing import NamedTuple

from gemlite_lab.lesson.variants.variant import Variant

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
    """The file of a record: "variants", or "variants_later" for LATER."""
    return _FOLDER / f"{name}_nvidia_h200.json"


def recorded(variants, name="variants"):
    """A `Recorded` for each shape of `variants` that the file `path_of(name)` has."""
    record = json.loads(path_of(name).read_text(encoding="utf-8"))
    of_name = {variant.name: variant for variant in variants}
    return [
        Recorded(of_name[row["kernel"]], row["N"], row["K"], row["p50_us"])
        for row in record["rows"]
    ]
