"""Memory counters that Nsight Compute recorded on hardware (`make test-gpu PARTS=counters`)."""

import json
from functools import cache
from pathlib import Path

_PATH = Path(__file__).parent.parent / "data" / "nsight_nvidia_h200.json"


@cache
def recorded():
    """The record, with keys "device", "date", "ncu" (its version), "metrics" {counter: ncu metric}
    and "kernels" {kernel: {counter: value}}."""
    return json.loads(_PATH.read_text(encoding="utf-8"))


def where_recorded(kernel, group_size=None):
    """The device and date of the record if it has a kernel whose name begins like this; else "".

    group_size: a recorded name with groups ends with e.g. "groups of 128"; None: no groups.
    """
    end = "" if group_size is None else f"groups of {group_size}"
    names = [name for name in recorded()["kernels"] if name.startswith(kernel)]
    if not any(name.endswith(end) if end else "groups of" not in name for name in names):
        return ""
    return f"{recorded()['device']}, {recorded()['date']}"
