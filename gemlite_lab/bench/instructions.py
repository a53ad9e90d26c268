"""Machine instructions of the kernels' inner loops, as nvcc makes them for an H200.

Counted by tools/instruction_counts.py, without a GPU.
"""

import json
from functools import cache
from pathlib import Path

PATH = Path(__file__).parent.parent / "data" / "instructions_sm_90.json"


@cache
def recorded():
    """The record: "nvcc" (its version); "kernels" {kernel: {"weights", "all", "integer"}}, of one
    turn of the 1-bit kernel's loop, which takes one word of 32 codes a lane; and "rungs"
    {"4", "2", "1": {rung: the same}}, of a turn of the loop that takes weights in groups of 128."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def per_weight(kernel):
    """(instructions of a warp for each weight of its lanes, those of the integer unit among them).

    The integer unit shifts, masks, shuffles bytes, and converts integers.

    >>> all(0 < integer < count for count, integer in map(per_weight, recorded()["kernels"]))
    True
    """
    counts = recorded()["kernels"][kernel]
    return counts["all"] / counts["weights"], counts["integer"] / counts["weights"]


def of_rung(nbits, rung):
    """Instructions of a warp for each weight of its lanes, of a rung of `ladder.rungs(nbits)`.

    >>> of_rung(4, "magic numbers") > of_rung(4, "lop3 by hand")
    True
    """
    counts = recorded()["rungs"][str(nbits)][rung]
    return counts["all"] / counts["weights"]
