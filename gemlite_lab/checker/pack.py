"""Exercise of notebook 02: write pack(W_q, nbits)."""

from functools import cache

import torch

from gemlite_edu.packing import WarpInterleaved, pack_warped_int32
from gemlite_lab.checker import cases
from gemlite_lab.checker.exercise import Exercise

_SHAPES = (  # nbits, N, K
    *((4, 3, 1000), (4, 2, 256), (4, 1, 33), (2, 2, 1100), (8, 5, 300)),
    *((3, 2, 650), (1, 2, 2100), (5, 2, 500), (6, 2, 350), (7, 2, 300)),
)


@cache
def codes_cases():
    """Codes of every width, ragged and over several tiles, and those of a real layer."""
    found = [cases.codes(nbits, N, K, seed) for seed, (nbits, N, K) in enumerate(_SHAPES)]
    return [*found, cases.real_codes()]


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


def shifts_of(layout):
    """How far field j of a word is shifted, for each j."""
    return [32 - layout.nbits * (j + 1) for j in range(layout.pack_factor)]


def _first_code_lowest(case):
    fields, layout = _fields(case)
    return _words(fields, [layout.nbits * j for j in range(layout.pack_factor)])


def _neighbours_in_one_word(case):
    fields, layout = _fields(case)
    N, tiles, pack_factor, _ = fields.shape
    return _words(fields.reshape(N, tiles, 32, pack_factor).transpose(2, 3), shifts_of(layout))


def _neighbours_first_lowest(case):
    fields, layout = _fields(case)
    N, tiles, pack_factor, _ = fields.shape
    fields = fields.reshape(N, tiles, 32, pack_factor).transpose(2, 3)
    return _words(fields, [layout.nbits * j for j in range(layout.pack_factor)])


def _idle_bits_on_top(case):
    fields, layout = _fields(case)
    return _words(fields, [shift - layout.idle_bits for shift in shifts_of(layout)])


def _pairs_swapped(case):
    fields, layout = _fields(case)
    if layout.pack_factor % 2:
        return None
    swapped = [j ^ 1 for j in range(layout.pack_factor)]
    return _words(fields[:, :, swapped], shifts_of(layout))


def _shifted_as_uint8(case):
    fields, layout = _fields(case)
    shifted = fields << torch.tensor(shifts_of(layout)).view(-1, 1)
    return _words(shifted & 0xFF, [0] * layout.pack_factor)


def _padded_in_front(case):
    fields, layout = _fields(case)
    N, K = case.W_q.shape
    padded = torch.nn.functional.pad(case.W_q.long(), (layout.padded_K(K) - K, 0))
    return _words(padded.reshape(fields.shape), shifts_of(layout))


def _first_tile_only(case):
    fields, layout = _fields(case)
    fields = fields.clone()
    fields[:, 1:] = 0
    return _words(fields, shifts_of(layout))


def _tail_dropped(case):
    fields, layout = _fields(case)
    fields = fields.clone()
    fields.flatten(1)[:, case.W_q.shape[1] // layout.tile * layout.tile :] = 0
    return _words(fields, shifts_of(layout))


def _first_row_everywhere(case):
    fields, layout = _fields(case)
    return _words(fields[:1].expand_as(fields), shifts_of(layout))


def _last_field_missing(case):
    fields, layout = _fields(case)
    return _words(fields[:, :, :-1], shifts_of(layout)[:-1])


def _last_field_only(case):
    fields, layout = _fields(case)
    return _words(fields[:, :, -1:], shifts_of(layout)[-1:])


def _one_field_too_far(case):
    fields, layout = _fields(case)
    return _words(fields, [shift + layout.nbits for shift in shifts_of(layout)])


def _interleaved_over_row(case):
    fields, layout = _fields(case)
    N, tiles, pack_factor, _ = fields.shape
    rows = fields.reshape(N, pack_factor, tiles, 32).transpose(1, 2)
    return _words(rows, shifts_of(layout))


def _misprinted_mask(case):
    fields, layout = _fields(case)
    return _words(fields & (case.nbits**2 - 1), shifts_of(layout))


def bytes_reversed(words, nbits):
    """The same words with their bytes in reverse order; None if that reverses the codes too."""
    if nbits not in (1, 2, 4):
        return None
    return words.view(torch.uint8).reshape(*words.shape, 4).flip(-1).flatten(1).view(torch.int32)


def _pack_bytes_reversed(case):
    return bytes_reversed(pack_warped_int32(case.W_q, case.nbits), case.nbits)


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
    cases=codes_cases,
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
        "each code takes the place of those before it: = instead of |=": _last_field_only,
        "the shift is 32 - nbits * j, one code too far: code j needs j + 1": _one_field_too_far,
        "the row is not cut into tiles first, so that a word holds k from all over it": (
            _interleaved_over_row
        ),
        "the bytes of each word are in reverse order": _pack_bytes_reversed,
        "the codes are masked with nbits**2 - 1; it is 2**nbits - 1": _misprinted_mask,
    },
)
