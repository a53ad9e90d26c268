"""A GEMV with 1:2 sparse weights as `Tiles` of 8 fields, to work out what a wrong kernel gives.

Fields 2p and 2p + 1 are pair p. The kept one has its value, the pruned one 0, which adds nothing.
"""

import torch

from gemlite_edu.packing import pack_sparse_1in2
from gemlite_lab.checker.gemv_tiles import Tiles
from gemlite_lab.checker.sparse_cases import fields_of

_FIRST_KEPT = 128


def sparse_tiles(case):
    """`Tiles` of a case, with codes where kept and 0 elsewhere."""
    words = pack_sparse_1in2(case.W_q, case.kept).long() & 0xFFFFFFFF
    return Tiles(
        case,
        fields_of(case.W_q.double() * case.kept),
        words.reshape(len(words), -1, 1, 32),
        fields_of(case.x.double()),
        case.zeros.double().reshape(-1, 1, 1, 1),
    )


def shifted(tiles, shifts=(24, 16, 8, 0)):
    """The words shifted right by shifts[p], (N, T, pairs, 32): pair p and the bytes above it."""
    return tiles.words >> torch.tensor(shifts).view(-1, 1)


def decoded(pairs):
    """(codes float64, whether the first is kept) of bytes, whatever is above them."""
    return (pairs & 127).double(), (pairs & _FIRST_KEPT) != 0


def placed(values, first):
    """Values (N, T, pairs, 32) in the fields (N, T, 2 * pairs, 32) of the kept ones."""
    return torch.stack([values * first, values * ~first], 3).flatten(2, 3)
