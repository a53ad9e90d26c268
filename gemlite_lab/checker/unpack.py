"""Exercise of bitpacking: write unpack(W_packed, nbits, K)."""

from dataclasses import dataclass, replace
from functools import cache

import torch

from gemlite_edu.packing import pack_warped_int32, unpack_warped_int32
from gemlite_lab.checker import cases
from gemlite_lab.checker.exchanged import with_exchanges
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.laid_otherwise import ALL_CONTIGUOUS, as_later_rows, as_parts
from gemlite_lab.checker.pack import codes_cases, fresh_codes, fresh_whole_tiles


@dataclass(frozen=True)
class _PackedCase(cases.CodesCase):
    """Codes, and the words that hold them, which `unpack` gets and must not change."""

    W_packed: torch.Tensor


@cache
def _packed_cases():
    found = [_packed(case) for case in codes_cases()]
    laid = _packed(cases.codes(4, 3, 300, seed=0))
    return [*found, *(lay(laid, "W_packed") for lay in (as_parts, as_later_rows))]


def _packed(case):
    return _PackedCase(**vars(case), W_packed=pack_warped_int32(case.W_q, case.nbits))


def _fresh(seed):
    return [_packed(case) for case in fresh_codes(seed)] + _exchanged(seed)


def _exchanged(seed):
    """Words that hold the same codes, four of them exchanged."""
    words = with_exchanges(_packed(fresh_whole_tiles(seed)), "W_packed", seed)
    return [replace(case, W_q=_codes_of(case)) for case in words]


def _codes_of(case):
    return unpack_warped_int32(case.W_packed, case.nbits, case.W_q.shape[1])


UNPACK = Exercise(
    name="unpack",
    lesson="bitpacking",
    output="W_q",
    dtype=torch.uint8,
    is_kernel=False,
    hints=(
        "It is your pack, read backwards: from (N, words) to (N, tiles, 1, 32) words.",
        "One shift per field gives (N, tiles, pack_factor, 32); flattening that is the order of k.",
        "int32 >> keeps the sign, so mask with 2**nbits - 1 after the shift; cut the padding last.",
    ),
    cases=_packed_cases,
    fresh=_fresh,
    expected=lambda case: (case.W_q, None),
    run=lambda answer, case, device: answer(case.W_packed, case.nbits, case.W_q.shape[1]),
    traps=ALL_CONTIGUOUS,
)
