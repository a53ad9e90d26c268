"""Our GEMV at the memory limit with a table of 16 levels in its hole."""

import hashlib
from dataclasses import replace
from functools import cache

from gemlite_edu.bench.candidate import Prepared
from gemlite_edu.bench.candidates import fast
from gemlite_edu.kernels import load
from gemlite_edu.pair_table import pair_table

(_PLAIN,) = (one for one in fast.CANDIDATES if one.name == "gemv_a16wn_fast")
_TABLE = pair_table(range(16))  # its levels are the codes themselves: y is that of the others


@cache
def _load(group_size):
    holes = {"dequant_pair": _TABLE}
    return load(_PLAIN.name, nbits=4, group_size=group_size, replace=holes)


def _why_not(problem):
    return _PLAIN.why_not(problem) or ("" if problem.weights.nbits == 4 else "4-bit weights")


def _prepare(weights, problem):
    kernel = _load(problem.weights.group_size)
    operands = kernel.pack(weights.W_q, weights.scales, weights.zeros)
    return Prepared(lambda x: kernel(x, *operands), operands)


_BUILD = hashlib.sha256((_PLAIN.build + _TABLE).encode()).hexdigest()[:8]
CANDIDATES = [
    replace(_PLAIN, name=f"{_PLAIN.name}_table", why_not=_why_not, prepare=_prepare, build=_BUILD)
]
