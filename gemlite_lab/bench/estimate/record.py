"""The calibration of a card: gemlite_lab/data/estimate_<device>.json."""

import json
from functools import cache
from pathlib import Path

from gemlite_lab.bench.estimate.model import Card, Parameters

_FOLDER = Path(__file__).parent.parent.parent / "data"
_DEVICES = {"H200": "nvidia_h200"}


def path_of(device):
    """The file of a device; ValueError for one that nobody calibrated."""
    if device not in _DEVICES:
        raise ValueError(f"times are estimated for {', '.join(_DEVICES)}, got {device!r}")
    return _FOLDER / f"estimate_{_DEVICES[device]}.json"


@cache
def calibration(device="H200"):
    """(`Card`, `Parameters`, the factor between an estimate and the ends of its interval)."""
    record = json.loads(path_of(device).read_text(encoding="utf-8"))
    return Card(**record["card"]), Parameters(**record["parameters"]), record["factor"]


def calibrated_on(device="H200"):
    """[(kernel, weights, N, K)] that the calibration saw."""
    record = json.loads(path_of(device).read_text(encoding="utf-8"))
    return [tuple(row) for row in record["rows"]]
