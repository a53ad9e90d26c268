"""Rows for best_scale that agree in whatever a kept result may be looked up by, and still differ.

All errors are exact, because the weights are marks or lie halfway between two.
"""

import torch

from gemlite_lab.checker.close_rows import Rows

_ROWS = 16
_NEAR_END = 8  # no pair begins so near to an end of its quarter
_APART = 4  # so that both weights of a pair have an odd place, or both an even one


def rows_of_every_width():
    """The same rows in 2 to 8 bits, in which the best candidate is not that of another width."""
    W = torch.tensor([[7.0, 1.0, -8.0], [-8.0, 1.0, 0.0], [8.0, 1.0, 0.0], [-8.0, -1.0, 3.0]])
    candidates = torch.tensor([[1.0, 8.0, 4.0, 1.140625]]).repeat(len(W), 1)
    what = "rows that other widths have too, some of other signs"
    return [Rows(what, nbits, W, candidates) for nbits in range(2, 9)]


def alike_rows(seed, K=400):
    """Cases of one row each, which differ in a pair of weights of the same sum.

    Two neighbouring rows share the place of their pair, which is best with one candidate in one
    row, and with the other in the other row. So a result is wrong that was kept by an end of the
    row, by every other weight, or by the sum.
    """
    generator = torch.Generator().manual_seed(seed)
    W = 3.0 * torch.randint(-9, 10, (1, K), generator=generator).repeat(_ROWS, 1)
    quarter = K // 4
    for row in range(0, _ROWS, 2):
        drawn = int(torch.randint(_NEAR_END, quarter - 2 * _NEAR_END, (), generator=generator))
        first = row // 4 * quarter + drawn // 2 * 2 + row // 2 % 2
        pair = [first, first + _APART]
        W[:, pair] = 3.0
        W[row, pair], W[row + 1, pair] = torch.tensor([2.0, 4.0]), torch.tensor([1.5, 4.5])
    what = f"row, like others but for two weights, seed {seed}"
    return [Rows(what, 8, w[None], torch.tensor([[7.0, 1.0, 1.5]])) for w in W]
