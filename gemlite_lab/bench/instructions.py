"""How many machine instructions nvcc makes of the kernels' inner loops, for an H200.

tools/instruction_counts.py counts them, without a GPU.
"""

import json
from functools import cache
from pathlib import Path

PATH = Path(__file__).parent.parent / "data" / "instructions_sm_90.json"


@cache
def recorded():
    """The recorded counts, of one turn of each loop.

    "nvcc": its version. "kernels": {kernel: {"weights", "all", "integer"}} for 1-bit codes, of
    which each lane takes one word of 32 a turn. "rungs": {"4", "2", "1": {rung: the same}} for
    weights in groups of 128."""
    return json.loads(PATH.read_text(encoding="utf-8"))


def per_weight(kernel):
    """(instructions, those of the integer unit among them) of a warp, for each weight of its lanes.

    The integer unit shifts, masks, shuffles bytes, and converts integers.

    >>> all(0 < integer < count for count, integer in map(per_weight, recorded()["kernels"]))
    True
    """
    counts = recorded()["kernels"][kernel]
    return counts["all"] / counts["weights"], counts["integer"] / counts["weights"]


def of_rung(nbits, rung):
    """Instructions of a warp for each weight of its lanes, in a rung of `ladder.rungs(nbits)`.

    >>> of_rung(4, "magic numbers") > of_rung(4, "lop3 by hand")
    True
    """
    counts = recorded()["rungs"][str(nbits)][rung]
    return counts["all"] / counts["weights"]
