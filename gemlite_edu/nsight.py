"""Memory counters that Nsight Compute recorded on hardware (`make test-gpu PARTS=counters`)."""

import json
from functools import cache
from pathlib import Path

_PATH = Path(__file__).parent / "data" / "nsight_nvidia_h200.json"


@cache
def recorded():
    """The record: "device", "date", "ncu" (its version), "metrics" {counter: metric of ncu}, and
    "kernels" {kernel: {counter: value}}."""
    return json.loads(_PATH.read_text(encoding="utf-8"))


def where_recorded(kernel):
    """Which device and when, if the record has a kernel whose name begins so; else ""."""
    if not any(name.startswith(kernel) for name in recorded()["kernels"]):
        return ""
    return f"{recorded()['device']}, {recorded()['date']}"
