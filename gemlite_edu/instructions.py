"""Floor 0: machine instructions of the kernels' inner loops, as nvcc makes them for an H200.

Counted by tools/instruction_counts.py, without a GPU.
"""

import json
from functools import cache
from pathlib import Path

PATH = Path(__file__).parent / "data" / "instructions_sm_90.json"


@cache
def recorded():
    """The record: "nvcc" (its version) and "kernels" {kernel: {"weights", "all", "integer"}}, of
    one turn of the 1-bit kernel's loop, which takes one word of 32 codes a lane."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def per_weight(kernel):
    """(instructions of a warp for each weight of its lanes, those of the integer unit among them).

    The integer unit shifts, masks, shuffles bytes, and converts integers.

    >>> all(0 < integer < count for count, integer in map(per_weight, recorded()["kernels"]))
    True
    """
    counts = recorded()["kernels"][kernel]
    return counts["all"] / counts["weights"], counts["integer"] / counts["weights"]
