"""Exercise of bitpacking: write unpack(W_packed, nbits, K)."""

from dataclasses import dataclass, replace
from functools import cache

import torch

from gemlite_edu.packing import pack_warped_int32, unpack_warped_int32
from gemlite_lab.checker import cases
from gemlite_lab.checker.exchanged import with_exchanges
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.laid_otherwise import (
    ALL_CONTIGUOUS,
    as_later_rows,
    as_parts,
    as_transposes,
)
from gemlite_lab.checker.pack import codes_cases, fresh_codes, fresh_whole_tiles


@dataclass(frozen=True)
class _PackedCase(cases.CodesCase):
    """Codes, and the words that hold them, which `unpack` gets and must not change."""

    W_packed: torch.Tensor


@cache
def _packed_cases():
    found = [_packed(case) for case in codes_cases()]
    laid = [_packed(cases.codes(nbits, 3, 300, seed=0)) for nbits in (4, 1, 2, 3, 5, 6, 7, 8)]
    otherwise = [lay(case, "W_packed") for case in laid for lay in (as_parts, as_transposes)]
    return [*found, *otherwise, as_later_rows(laid[0], "W_packed"), *_same_words()]


def _same_words():
    """Cases of the same words in every width and with another K. Bits idle in some width are 0."""
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(-(2**27), 2**27, (3, 64), generator=generator, dtype=torch.int32) * 16
    found = []
    for nbits, fewer in [*((nbits, 0) for nbits in range(1, 9)), (8, 7)]:
        K = 64 * (32 // nbits) - fewer
        label = f"{nbits}-bit, N = 3, K = {K}, words like those of other widths"
        codes = unpack_warped_int32(words, nbits, K)
        found.append(_PackedCase(label, nbits, codes, words))
    return found


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
