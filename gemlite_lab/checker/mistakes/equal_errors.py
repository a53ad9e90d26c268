"""The mistake of best_scale that an output tells: which of equally good candidates is taken."""

import torch

from gemlite_lab.checker.close_rows import errors
from gemlite_lab.checker.mistakes.model import Model


def _other_of_equals(case, actual, is_equal):
    """The mistake in words if every index is one of a best candidate; None if some are not."""
    of_candidates = errors(case.W, case.nbits, case.candidates)
    indices = actual.long()
    if not torch.equal(indices, actual) or not indices.ge(0).all():
        return None
    if indices.max() >= of_candidates.shape[1]:
        return None
    taken = of_candidates.gather(1, indices[:, None])[:, 0]
    if not torch.equal(taken, of_candidates.amin(1)):
        return None
    return "of equal errors another one than the first is taken; the first is asked"


def _parts_of(case):
    return {"errors": errors(case.W, case.nbits, case.candidates)}


def _output(parts):
    return parts["errors"].argmin(1).double()


BEST_SCALE = Model(_parts_of, lambda case: [], _output, fitted=_other_of_equals)
