"""Cases whose floats agree in their bytes, in their sizes, or in half precision, and still differ.

An answer that keeps its results, and looks them up by one of these alone, is wrong. See `exchanged`
for cases that agree in their elements and their sums.
"""

from dataclasses import replace

import torch


def alike_inputs(case, name, is_free=None):
    """Four cases: one, with its tensor `name` in another shape, of other signs, and slightly moved.

    The tensor (rows, columns) is float32 and has an even number of rows. Some of its numbers lie
    halfway between two codes; moved slightly, they do not. is_free: a bool tensor, True where it
    may be changed.
    """
    tensor = getattr(case, name)
    is_free = torch.ones_like(tensor, dtype=torch.bool) if is_free is None else is_free
    away = torch.nextafter(tensor, tensor.sign() * torch.inf).where(tensor != 0, tensor)
    others = {
        "": tensor,
        ", the same numbers in half the rows": tensor.reshape(len(tensor) // 2, -1),
        ", of other signs": torch.where(is_free, -tensor, tensor),
        ", slightly larger": torch.where(is_free, away, tensor),
    }
    return [
        replace(case, label=f"{case.label}, to be changed{how}", **{name: changed.clone()})
        for how, changed in others.items()
    ]
