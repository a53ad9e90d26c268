"""Exercises of notebook 02: write pack(W_q, nbits) and unpack(W_packed, nbits, K)."""

import torch

from gemlite_edu.checker import cases
from gemlite_edu.checker.exercise import Exercise
from gemlite_edu.packing import WarpInterleaved, pack_warped_int32

_SHAPES = ((4, 3, 1000), (4, 2, 256), (2, 2, 700), (8, 5, 300), (3, 2, 650), (1, 1, 33))


def _cases():
    return [cases.codes(nbits, N, K, seed) for seed, (nbits, N, K) in enumerate(_SHAPES)]


def _fields(case):
    """Codes as (N, tiles, pack_factor, 32): field j of word `lane`, and the layout."""
    layout = WarpInterleaved(case.nbits)
    N, K = case.W_q.shape
    padded = torch.nn.functional.pad(case.W_q.long(), (0, layout.padded_K(K) - K))
    return padded.reshape(N, -1, layout.pack_factor, 32), layout


def _words(fields, shifts):
    """int32 words (N, -1) of codes shifted left by shifts[j]."""
    words = (fields << torch.tensor(shifts).view(-1, 1)).sum(2) & 0xFFFFFFFF
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32).flatten(1)


def _shifts(layout):
    return [32 - layout.nbits * (j + 1) for j in range(layout.pack_factor)]


def _first_code_lowest(case):
    fields, layout = _fields(case)
    return _words(fields, [layout.nbits * j for j in range(layout.pack_factor)])


def _neighbours_in_one_word(case):
    fields, layout = _fields(case)
    N, tiles, pack_factor, _ = fields.shape
    return _words(fields.reshape(N, tiles, 32, pack_factor).transpose(2, 3), _shifts(layout))


def _neighbours_first_lowest(case):
    fields, layout = _fields(case)
    N, tiles, pack_factor, _ = fields.shape
    fields = fields.reshape(N, tiles, 32, pack_factor).transpose(2, 3)
    return _words(fields, [layout.nbits * j for j in range(layout.pack_factor)])


def _idle_bits_on_top(case):
    fields, layout = _fields(case)
    return _words(fields, [shift - layout.idle_bits for shift in _shifts(layout)])


def _pairs_swapped(case):
    fields, layout = _fields(case)
    if layout.pack_factor % 2:
        return None
    swapped = [j ^ 1 for j in range(layout.pack_factor)]
    return _words(fields[:, :, swapped], _shifts(layout))


def _shifted_as_uint8(case):
    fields, layout = _fields(case)
    shifted = fields << torch.tensor(_shifts(layout)).view(-1, 1)
    return _words(shifted & 0xFF, [0] * layout.pack_factor)


def _padded_in_front(case):
    fields, layout = _fields(case)
    N, K = case.W_q.shape
    padded = torch.nn.functional.pad(case.W_q.long(), (layout.padded_K(K) - K, 0))
    return _words(padded.reshape(fields.shape), _shifts(layout))


def _first_tile_only(case):
    fields, layout = _fields(case)
    fields = fields.clone()
    fields[:, 1:] = 0
    return _words(fields, _shifts(layout))


def _tail_dropped(case):
    fields, layout = _fields(case)
    fields = fields.clone()
    fields.flatten(1)[:, case.W_q.shape[1] // layout.tile * layout.tile :] = 0
    return _words(fields, _shifts(layout))


def _first_row_everywhere(case):
    fields, layout = _fields(case)
    return _words(fields[:1].expand_as(fields), _shifts(layout))


def _last_field_missing(case):
    fields, layout = _fields(case)
    return _words(fields, _shifts(layout)) & ~torch.tensor(
        (2**layout.nbits - 1) << layout.idle_bits, dtype=torch.int32
    )


PACK = Exercise(
    name="pack",
    notebook="02_bitpacking",
    output="W_packed",
    dtype=torch.int32,
    is_kernel=False,
    hints=(
        "Draw one tile first: which k lie in word 0, from the most significant field down?",
        "Pad K to whole tiles, reshape to (N, tiles, pack_factor, 32): "
        "index 2 is the field, index 3 the lane.",
        "Field j goes left by 32 - nbits * (j + 1). Shift int32, not uint8, and combine with |.",
    ),
    cases=_cases,
    expected=lambda case: (pack_warped_int32(case.W_q, case.nbits), None),
    run=lambda answer, case, device: answer(case.W_q, case.nbits),
    mistakes={
        "the first code is in the least significant bits": _first_code_lowest,
        "a word holds neighbouring k instead of k that lie 32 apart": _neighbours_in_one_word,
        "a word holds neighbouring k, the first one in the least significant bits": (
            _neighbours_first_lowest
        ),
        "the idle bits are at the top of the word instead of the bottom": _idle_bits_on_top,
        "the two codes of each pair of fields are swapped": _pairs_swapped,
        "the codes are shifted while still uint8, so that bits above the eighth are lost": (
            _shifted_as_uint8
        ),
        "the padding is in front of each row instead of behind it": _padded_in_front,
        "only the first tile of each row is packed": _first_tile_only,
        "the ragged tail of K after the last whole tile is missing": _tail_dropped,
        "every row holds row 0": _first_row_everywhere,
        "the last code of each word is missing": _last_field_missing,
    },
)


def _uint8(fields, case):
    return fields.flatten(1)[:, : case.W_q.shape[1]].to(torch.uint8)


def _extract(case, shift_of, mask, words=None):
    """Codes read from the packed words with shift_of(j), before the padding is cut."""
    layout = WarpInterleaved(case.nbits)
    words = pack_warped_int32(case.W_q, case.nbits).long() if words is None else words
    tiles = words.reshape(len(words), -1, 1, 32)
    shifts = torch.tensor([shift_of(j) for j in range(layout.pack_factor)]).view(-1, 1)
    return (tiles >> shifts) & mask


def _unpack_with(case, shift_of=None, mask=None):
    nbits = case.nbits
    shift_of = shift_of or (lambda j: 32 - nbits * (j + 1))
    return _extract(case, shift_of, 2**nbits - 1 if mask is None else mask)


def _unpack_interleave_undone(case):
    fields = _unpack_with(case)
    return _uint8(fields.transpose(2, 3), case)


def _unpack_reversed(case):
    return _uint8(_unpack_with(case, shift_of=lambda j: case.nbits * j), case)


def _unpack_reversed_and_undone(case):
    fields = _unpack_with(case, shift_of=lambda j: case.nbits * j)
    return _uint8(fields.transpose(2, 3), case)


def _unpack_misprinted_mask(case):
    return _uint8(_unpack_with(case, mask=case.nbits**2 - 1), case)


def _unpack_unmasked(case):
    return _uint8(_unpack_with(case, mask=0xFF), case)


def _unpack_idle_bits_on_top(case):
    idle = WarpInterleaved(case.nbits).idle_bits
    shift_of = lambda j: 32 - case.nbits * (j + 1) - idle  # noqa: E731
    return _uint8(_unpack_with(case, shift_of), case)


def _unpack_pairs_swapped(case):
    fields = _unpack_with(case)
    if fields.shape[2] % 2:
        return None
    return _uint8(fields[:, :, [j ^ 1 for j in range(fields.shape[2])]], case)


def _unpack_first_row(case):
    fields = _unpack_with(case)
    return _uint8(fields[:1].expand_as(fields), case)


def _unpack_first_field(case):
    fields = _unpack_with(case)
    return _uint8(fields[:, :, :1].expand_as(fields), case)


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
    cases=_cases,
    expected=lambda case: (case.W_q, None),
    run=lambda answer, case, device: answer(
        pack_warped_int32(case.W_q, case.nbits), case.nbits, case.W_q.shape[1]
    ),
    mistakes={
        "the fields are read from the least significant bits": _unpack_reversed,
        "the codes of one word are taken as neighbouring k, but they lie 32 apart": (
            _unpack_interleave_undone
        ),
        "the codes of one word are taken as neighbouring k, from the least significant bits": (
            _unpack_reversed_and_undone
        ),
        "the mask is nbits**2 - 1; it is 2**nbits - 1": _unpack_misprinted_mask,
        "the shifted word is not masked, so that its upper neighbours stay in": _unpack_unmasked,
        "the idle bits are taken to be at the top of the word": _unpack_idle_bits_on_top,
        "the two codes of each pair of fields are swapped": _unpack_pairs_swapped,
        "every row is read from row 0": _unpack_first_row,
        "every field is read as the first one": _unpack_first_field,
    },
)
