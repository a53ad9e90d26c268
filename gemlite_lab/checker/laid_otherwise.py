"""Cases whose tensors lie otherwise in memory: as parts or transposes of other tensors."""

from dataclasses import replace

import torch

from gemlite_lab.checker.exercise import tensors_of

_ROWS_AHEAD, _COLUMNS_AHEAD = 1, 8


def as_parts(case, *names):
    """The case with these tensors (rows, columns) as parts of larger ones, which hold ones."""
    parts = {name: _as_part(getattr(case, name)) for name in names}
    return replace(case, label=f"{case.label}, {_listed(names)} a part of a larger tensor", **parts)


def as_later_rows(case, *names):
    """The case with these tensors as all rows but the first of others: contiguous, at an offset."""
    laid = {name: torch.cat([getattr(case, name)[:1], getattr(case, name)])[1:] for name in names}
    return replace(case, label=f"{case.label}, {_listed(names)} all later rows of a tensor", **laid)


def as_transposes(case, *names):
    """The case with these tensors as `.T` of contiguous ones."""
    laid = {name: getattr(case, name).T.contiguous().T for name in names}
    return replace(case, label=f"{case.label}, {_listed(names)} a .T of another tensor", **laid)


def laid_in_every_way(of_dtypes, name):
    """Cases whose tensor `name` is a part, a transpose, or all later rows of another tensor.

    of_dtypes: a list of cases for each dtype; only those of the first one are laid as parts too.
    """
    first, *others = of_dtypes
    found = [lay(case, name) for case in first for lay in (as_parts, as_transposes, as_later_rows)]
    others = [case for cases in others for case in cases]
    return found + [lay(case, name) for case in others for lay in (as_transposes, as_later_rows)]


def middle_rolled(length):
    """The places 0 to length - 1 with the first and the last where they were, the others rolled."""
    at = torch.arange(length)
    return torch.cat([at[:1], at[1:-1].roll(1), at[-1:]])


def _as_part(tensor):
    rows, columns = tensor.shape
    whole = tensor.new_ones(rows + _ROWS_AHEAD, columns + _COLUMNS_AHEAD + -columns % 8)
    part = whole[_ROWS_AHEAD:, _COLUMNS_AHEAD : _COLUMNS_AHEAD + columns]
    return part.copy_(tensor)


def _listed(names):
    return " and ".join(names)


def _all_contiguous(case):
    tensors = tensors_of(case).values()
    if all(tensor.is_contiguous() and not tensor.storage_offset() for tensor in tensors):
        return case
    laid = {name: tensor.contiguous().clone() for name, tensor in tensors_of(case).items()}
    return replace(case, **laid)


ALL_CONTIGUOUS = {"its inputs were no parts or transposes of other tensors": _all_contiguous}
