"""Cases that agree in whatever a kept result may be looked up by, and still differ.

An answer that keeps its results, and looks them up by less than the whole input, is wrong. So two
cases differ in four elements alone: what is a, b above b, a in one tensor is b, a above a, b in the
other. Both have the same shape, edges and elements, the same elements in every row and column, and
the same sum, also with weights that grow evenly along rows and columns.
"""

from dataclasses import replace
from itertools import combinations

import torch

_TRIES = 100


def with_exchanges(case, name, seed, is_free=None):
    """Nine cases: one, and it with four elements of its tensor `name` exchanged, somewhere else in
    each: two in each quarter of the tensor.

    In the first one too, the tensor (rows, columns) has other elements there than in `case`.
    is_free: where it may be changed, a bool tensor like it, beside its edges, which stay.
    Raises ValueError if a quarter has no four such elements.
    """
    tensor = getattr(case, name).clone()
    generator = torch.Generator().manual_seed(seed)
    is_free = _inside(tensor) if is_free is None else _inside(tensor) & is_free
    exchanges = []
    for quarter in _quarters(tensor.shape) * 2:
        rows, columns = _rectangle(is_free & quarter, generator)
        one, other = _two_values(tensor, rows, generator)
        place = rows[:, None], columns
        is_free[place] = False
        exchanges.append((place, torch.tensor([[other, one], [one, other]], dtype=tensor.dtype)))
        tensor[place] = exchanges[-1][1].flip(0)
    found = [replace(case, label=f"{case.label}, four elements to exchange", **{name: tensor})]
    for place, exchanged in exchanges:
        changed = tensor.clone()
        changed[place] = exchanged
        label = f"{case.label}, four elements of {name} exchanged"
        found.append(replace(case, label=label, **{name: changed}))
    return found


def _inside(tensor):
    is_inside = torch.zeros(tensor.shape, dtype=torch.bool)
    is_inside[1:-1, 1:-1] = True
    return is_inside


def _quarters(shape):
    """Where the four quarters of such a tensor are."""
    upper = (torch.arange(shape[0]) < shape[0] // 2)[:, None]
    left = torch.arange(shape[1]) < shape[1] // 2
    return [upper & left, upper & ~left, ~upper & left, ~upper & ~left]


def _rectangle(is_free, generator):
    """Two rows and two columns that meet in four free places, drawn."""
    rows = is_free.any(1).nonzero().flatten()
    pairs = list(combinations(rows[torch.randperm(len(rows), generator=generator)].tolist(), 2))
    for pair in pairs[:_TRIES]:
        columns = is_free[list(pair)].all(0).nonzero().flatten()
        if len(columns) > 1:
            drawn = torch.randperm(len(columns), generator=generator)[:2]
            return torch.tensor(pair), columns[drawn]
    raise ValueError("no two rows and columns meet in four free places")


def _two_values(tensor, rows, generator):
    """Two different elements of these rows, drawn. Raises ValueError if all are alike."""
    values = tensor[rows].unique()
    if len(values) == 1:
        raise ValueError("all elements are alike")
    return values[torch.randperm(len(values), generator=generator)[:2]].tolist()
