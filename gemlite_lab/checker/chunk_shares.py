"""Whether the chunks of a Split-K product share its work, which the sum of all chunks cannot tell.

In a case that tells, each row of x is 0 outside one tile of the sum. So a chunk has added up those
tiles in whose rows its own sums are not 0.
"""

import re
from dataclasses import replace

import torch

from gemlite_lab.checker.objections import object_to

_VALUES_OF_X = 3


def with_a_row_for_each_tile(case, tile):
    """The case with other x: row m is 1 to 3 in tile m, and 0 in the others."""
    at = torch.arange(case.x.shape[1])
    x = torch.zeros(-(-len(at) // tile), len(at), dtype=case.x.dtype)
    x[at // tile, at] = (1 + at % _VALUES_OF_X).to(x.dtype)
    label = re.sub(r"\bM = \d+", f"M = {len(x)}", case.label)
    return replace(case, label=f"{label}, each row of x in one tile", x=x)


def refuse_uneven_shares(name, case, sums, y, right):
    """Object if y is right, and one of several chunks has added up more than its share.

    sums: (chunks, M, columns of y), or None if the case has no chunks. A case tells only if it is
    made by `with_a_row_for_each_tile`.
    """
    if sums is None or not _has_a_row_for_each_tile(case.x) or not torch.equal(y, right):
        return
    tiles = len(case.x)
    share = -(-tiles // len(sums))
    for chunk, added in enumerate(sums.ne(0).any(2).sum(1).tolist()):
        if added > share:
            object_to(
                f"{name} has the right sums on {case.label}, but chunk {chunk} adds up {added} of "
                f"{tiles} tiles, where {share} are its share of {len(sums)} chunks: give each "
                "program tiles of its own, so that they work side by side"
            )


def _has_a_row_for_each_tile(x):
    row_of_k = (x != 0).int().argmax(0)
    return len(x) > 1 and bool(((x != 0).sum(0) == 1).all() and (row_of_k.diff() >= 0).all())
