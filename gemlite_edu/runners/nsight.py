"""Memory counters that Nsight Compute recorded on hardware (`make test-gpu PARTS=counters`)."""

import json
from functools import cache
from pathlib import Path

_PATH = Path(__file__).parent.parent / "data" / "nsight_nvidia_h200.json"


@cache
def recorded():
    """The record: "device", "date", "ncu" (its version), "metrics" {counter: metric of ncu}, and
    "kernels" {kernel: {counter: value}}."""
    return json.loads(_PATH.read_text(encoding="utf-8"))


def where_recorded(kernel, group_size=None):
    """Which device and when, if the record has a kernel whose name begins so; else "".

    group_size: of the scales, of which a name ends with "groups of 128"; None: it does not.
    """
    end = "" if group_size is None else f"groups of {group_size}"
    names = [name for name in recorded()["kernels"] if name.startswith(kernel)]
    if not any(name.endswith(end) if end else "groups of" not in name for name in names):
        return ""
    return f"{recorded()['device']}, {recorded()['date']}"
