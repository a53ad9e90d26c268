"""Exercise of notebook 02: write unpack(W_packed, nbits, K)."""

from dataclasses import dataclass
from functools import cache

import torch

from gemlite_edu.packing import WarpInterleaved, pack_warped_int32
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.pack import bytes_reversed, codes_cases, shifts_of


@dataclass(frozen=True)
class _PackedCase(cases.CodesCase):
    """Codes, and the words that hold them: what `unpack` is given, and must leave as it is."""

    W_packed: torch.Tensor


@cache
def _packed_cases():
    return [
        _PackedCase(**vars(case), W_packed=pack_warped_int32(case.W_q, case.nbits))
        for case in codes_cases()
    ]


def _reading(shift=None, mask=None, order=None, words=None):
    """The mistake of reading with another shift(layout, j), mask(nbits) or words(case).

    order(fields): the fields (N, tiles, pack_factor, 32) as they are taken in the order of k.
    """

    def output(case):
        layout = WarpInterleaved(case.nbits)
        read = case.W_packed if words is None else words(case)
        if read is None:
            return None
        right = shifts_of(layout)
        shifts = right if shift is None else [shift(layout, j) for j in range(len(right))]
        fields = read.long().reshape(len(read), -1, 1, 32) >> torch.tensor(shifts).view(-1, 1)
        fields &= (2**case.nbits - 1) if mask is None else mask(case.nbits)
        fields = fields if order is None else order(fields)
        K = case.W_q.shape[1]
        return None if fields is None else fields.flatten(1)[:, :K].to(torch.uint8)

    return output


def _from_least_significant(layout, j):
    return layout.nbits * j


def _neighbours(fields):
    return fields.transpose(2, 3)


def _swapped(fields):
    count = fields.shape[2]
    return None if count % 2 else fields[:, :, [j ^ 1 for j in range(count)]]


def _first_tile(fields):
    return fields * (torch.arange(fields.shape[1]) == 0).view(-1, 1, 1)


def _all_but_last_field(fields):
    return fields * (torch.arange(fields.shape[2]) < fields.shape[2] - 1).view(-1, 1)


def _sign_extended(case):
    middle = 2 ** (case.nbits - 1)
    return torch.where(case.W_q >= middle, case.W_q - 2 * middle, case.W_q)


def _tail_not_read(case):
    codes, tile = case.W_q.clone(), WarpInterleaved(case.nbits).tile
    codes[:, codes.shape[1] // tile * tile :] = 0
    return codes


def _padding_cut_in_front(case):
    K = case.W_q.shape[1]
    padded = torch.nn.functional.pad(case.W_q, (0, WarpInterleaved(case.nbits).padded_K(K) - K))
    return padded[:, -K:]


UNPACK = Exercise(
    name="unpack",
    notebook="02_bitpacking",
    output="W_q",
    dtype=torch.uint8,
    is_kernel=False,
    hints=(
        "It is your pack, read backwards: from (N, words) to (N, tiles, 1, 32) words.",
        "One shift per field gives (N, tiles, pack_factor, 32); flattening that is the order of k.",
        "int32 >> keeps the sign, so mask with 2**nbits - 1 after the shift; cut the padding last.",
    ),
    cases=_packed_cases,
    expected=lambda case: (case.W_q, None),
    run=lambda answer, case, device: answer(case.W_packed, case.nbits, case.W_q.shape[1]),
    mistakes={
        "the fields are read from the least significant bits": _reading(_from_least_significant),
        "the codes of one word are taken as neighbouring k, but they lie 32 apart": _reading(
            order=_neighbours
        ),
        "the codes of one word are taken as neighbouring k, from the least significant bits": (
            _reading(_from_least_significant, order=_neighbours)
        ),
        "the row is not cut into tiles first: the codes of a word are spread all over it": _reading(
            order=lambda fields: fields.transpose(1, 2)
        ),
        "the mask is nbits**2 - 1; it is 2**nbits - 1": _reading(mask=lambda nbits: nbits**2 - 1),
        "the mask is 1 << nbits - 1, the top bit alone, because - comes before <<": _reading(
            mask=lambda nbits: 1 << nbits - 1
        ),
        "the mask is 15, whatever nbits is": _reading(mask=lambda nbits: 15),
        "the mask is applied before the shift, where it keeps the lowest field alone": _reading(
            words=lambda case: case.W_packed & (2**case.nbits - 1)
        ),
        "the shifted word is not masked, so that its upper neighbours stay in": _reading(
            mask=lambda nbits: 0xFF
        ),
        "the codes are sign-extended: >> of int32 keeps the sign, so mask after it": _sign_extended,
        "the idle bits are taken to be at the top of the word": _reading(
            lambda layout, j: layout.nbits * (layout.pack_factor - 1 - j)
        ),
        "the shift is 32 - nbits * j, one code too far: code j needs j + 1": _reading(
            lambda layout, j: 32 - layout.nbits * j
        ),
        "the bytes of each word are read in reverse order": _reading(
            words=lambda case: bytes_reversed(case.W_packed, case.nbits)
        ),
        "the two codes of each pair of fields are swapped": _reading(order=_swapped),
        "every row is read from row 0": _reading(order=lambda fields: fields[:1].expand_as(fields)),
        "every field is read as the first one": _reading(
            order=lambda fields: fields[:, :, :1].expand_as(fields)
        ),
        "only the first tile of each row is read": _reading(order=_first_tile),
        "the ragged tail of K after the last whole tile is not read": _tail_not_read,
        "the last code of each word is not read": _reading(order=_all_but_last_field),
        "the padding is cut off in front instead of behind": _padding_cut_in_front,
    },
)
