"""The rungs' recorded times (tools/measure_ladder.py) and counts (tools/count_ladder.py)."""

import json
import re
from pathlib import Path

from gemlite_lab.bench.measurements import Measurement

_FOLDER = Path(__file__).parent.parent.parent / "data"
_COUNTS = "ladder_counts"


def path_of(device, what="ladder"):
    """The file of a device: data/ladder_nvidia_h200.json; counts are in data/ladder_counts_..."""
    name = re.sub(r"\W+", "_", device.lower())
    return _FOLDER / f"{what}_{name}.json"


def recorded(device="NVIDIA H200"):
    """A `Measurement` of every rung, shape and width; its `kernel` is the rung's name."""
    record = _read(path_of(device), f"no ladder was measured on {device}: run measure_ladder.py")
    return [Measurement(**record["all"], **row) for row in record["rows"]]


def counted(device="NVIDIA H200"):
    """Nsight Compute's record: "device", "date", "ncu" (its version), "N", "K", "metrics" {counter:
    metric of ncu}, and "rungs" {"4", "2", "1": {rung: {counter: value}}}."""
    path = path_of(device, _COUNTS)
    return _read(path, f"no ladder was counted on {device}: run count_ladder.py")


def _read(path, why_not):
    if not path.exists():
        raise ValueError(f"{why_not} of tools/ there")
    return json.loads(path.read_text(encoding="utf-8"))


def write_counts(record):
    """Write the record that `counted` reads; return its path."""
    path = path_of(record["device"], _COUNTS)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def write(rows):
    """Write the `Measurement`s of one device, and the fields that all of them share only once."""
    tables = [vars(row) for row in rows]
    common = {name: value for name, value in tables[0].items() if _is_common(tables, name)}
    own = [{name: row[name] for name in row if name not in common} for row in tables]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in own)
    text = f'{{\n "all": {json.dumps(common)},\n "rows": [\n{lines}\n ]\n}}\n'
    path_of(rows[0].device).write_text(text, encoding="utf-8")


def _is_common(tables, name):
    return all(table[name] == tables[0][name] for table in tables)
