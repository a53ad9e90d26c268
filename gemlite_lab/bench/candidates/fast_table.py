"""Our GEMV at the memory limit with a table in its hole; codes of 3 bits lie in fields of 4."""

import hashlib
from dataclasses import replace
from functools import cache

from gemlite_edu.kernels.pair_table import pair_table
from gemlite_edu.runners.load import load
from gemlite_lab.bench.candidate import Prepared
from gemlite_lab.bench.candidates import fast

(_PLAIN,) = (one for one in fast.CANDIDATES if one.name == "gemv_a16wn_fast")
# Levels are the codes themselves, so that y is what it would be without a table.
_TABLES = {nbits: pair_table(range(2**nbits)) for nbits in (4, 3)}


@cache
def _load(nbits, group_size):
    return load(_PLAIN.name, nbits=4, group_size=group_size, replace=_TABLES[nbits])


def _why_not(problem):
    if problem.weights.nbits not in _TABLES:
        return "weights of 4 or 3 bits"
    return _PLAIN.why_not(replace(problem, weights=replace(problem.weights, nbits=4)))


def _prepare(weights, problem):
    kernel = _load(problem.weights.nbits, problem.weights.group_size)
    operands = kernel.pack(weights.W_q, weights.scales, weights.zeros)
    return Prepared(lambda x: kernel(x, *operands), operands)


_BUILD = hashlib.sha256((_PLAIN.build + str(_TABLES)).encode()).hexdigest()[:8]
CANDIDATES = [
    replace(_PLAIN, name=f"{_PLAIN.name}_table", why_not=_why_not, prepare=_prepare, build=_BUILD)
]
