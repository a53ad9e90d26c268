"""Exercise of notebook 08: write pack_sparse(W_q, kept)."""

from dataclasses import replace
from functools import cache

import torch

from gemlite_edu.packing import pack_sparse_1in2
from gemlite_lab.checker.exercise import Exercise
from gemlite_lab.checker.sparse_cases import TILE, fields_of, real_sparse_codes, sparse_codes

_FLAG = 128
_SHAPES = ((3, 700), (2, 256), (5, 300), (1, 33), (2, 7), (4, 64), (2, 1100))  # N, K
_SHIFTS = (24, 16, 8, 0)


@cache
def _cases():
    found = [sparse_codes(N, K, seed) for seed, (N, K) in enumerate(_SHAPES)]
    return [*found, real_sparse_codes()]


def _pairs_of(case):
    """Codes and kept of the first and the second of each pair, four tensors (N, tiles, 4, 32)."""
    codes, kept = fields_of(case.W_q.long()), fields_of(case.kept)
    return codes[:, :, ::2], codes[:, :, 1::2], kept[:, :, ::2], kept[:, :, 1::2]


def _words(pairs, shifts=_SHIFTS):
    """int32 words (N, -1) of bytes (N, tiles, 4, 32) shifted left by shifts[p]."""
    words = (pairs << torch.tensor(shifts).view(-1, 1)).sum(2) & 0xFFFFFFFF
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32).flatten(1)


def _bytes(case):
    first, second, first_kept, _ = _pairs_of(case)
    return torch.where(first_kept, first, second) | first_kept * _FLAG


def _with_bytes(bytes_of):
    """The mistake of packing bytes_of(first, second, first_kept, second_kept) for each pair."""
    return lambda case: _words(bytes_of(*_pairs_of(case)))


def _with_words(words_of):
    """The mistake of making words_of(right bytes (N, tiles, 4, 32))."""
    return lambda case: words_of(_bytes(case))


def _kept_of(first, second, first_kept):
    return torch.where(first_kept, first, second)


def _with_fields(reordered):
    """The mistake of taking the fields of W_q and kept in another order."""

    def output(case):
        codes, kept = reordered(fields_of(case.W_q.long())), reordered(fields_of(case.kept))
        first_kept = kept[:, :, ::2]
        return _words(
            _kept_of(codes[:, :, ::2], codes[:, :, 1::2], first_kept) | first_kept * _FLAG
        )

    return output


def _neighbours_as_pairs(fields):
    stretches = fields.reshape(*fields.shape[:2], 4, 32, 2)
    return stretches.transpose(3, 4).reshape(fields.shape)


def _halves_as_pairs(fields):
    return fields[:, :, [0, 4, 1, 5, 2, 6, 3, 7]]


def _padded_in_front(case):
    pad = (-case.W_q.shape[1] % TILE, 0)
    W_q, kept = (torch.nn.functional.pad(t, pad) for t in (case.W_q, case.kept))
    return _words(_bytes(replace(case, W_q=W_q, kept=kept)))


def _only_tiles(case, end):
    """The words of the tiles before `end`, 0 in the others."""
    words = pack_sparse_1in2(case.W_q, case.kept).clone()
    words[:, 32 * end :] = 0
    return words


def _bytes_in_order(pairs):
    """Lane l has the bytes 4 l to 4 l + 3 of its tile."""
    return pairs.reshape(*pairs.shape[:2], 32, 4).transpose(2, 3)


def _bytes_over_row(pairs):
    N, tiles, _, _ = pairs.shape
    return pairs.reshape(N, 4, tiles, 32).transpose(1, 2)


PACK_SPARSE = Exercise(
    name="pack_sparse",
    notebook="08_sparse_1in2_7bit",
    output="W_packed",
    dtype=torch.int32,
    is_kernel=False,
    hints=(
        "Pad K to whole tiles of 256, then reshape so that the two of a pair lie in an axis of "
        "their own, of length 2. Pad `kept` as well.",
        "(N, tiles, 4, 2, 32) has the pair of a word, first or second, and the lane. Choose a code "
        "with torch.where; the position is that of the first in `kept`, times 128.",
        "The byte of pair p goes left by 24 - 8 * p, as int32 and not as uint8 or bool.",
    ),
    cases=_cases,
    expected=lambda case: (pack_sparse_1in2(case.W_q, case.kept), None),
    run=lambda answer, case, device: answer(case.W_q, case.kept),
    mistakes={
        "bit 7 is set where the second of a pair is kept; it is for the first": _with_bytes(
            lambda first, second, kept, other: (
                _kept_of(first, second, kept) | ~kept * _FLAG * (kept | other)
            )
        ),
        "bit 7 is set where the first is not kept, and so in the padding too": _with_bytes(
            lambda first, second, kept, _: _kept_of(first, second, kept) | ~kept * _FLAG
        ),
        "bit 7 is clear in every byte: the position is missing": _with_bytes(
            lambda first, second, kept, _: _kept_of(first, second, kept)
        ),
        "bit 7 is set in every byte": _with_bytes(
            lambda first, second, kept, _: _kept_of(first, second, kept) | _FLAG
        ),
        "bit 7 is set where the second is not kept, and so in the padding too": _with_bytes(
            lambda first, second, _, other: torch.where(other, second, first) | ~other * _FLAG
        ),
        "the position is in bit 0 and the code above it; the position is bit 7": _with_bytes(
            lambda first, second, kept, _: _kept_of(first, second, kept) << 1 | kept
        ),
        "the position is one bit too low, among the bits of the code: bit 7 is 1 << 7": _with_bytes(
            lambda first, second, kept, _: _kept_of(first, second, kept) | kept * 64
        ),
        "the pruned code of each pair is packed instead of the kept one": _with_bytes(
            lambda first, second, kept, _: _kept_of(second, first, kept) | kept * _FLAG
        ),
        "the code of the first is packed, whichever is kept": _with_bytes(
            lambda first, second, kept, _: first | kept * _FLAG
        ),
        "both codes of a pair are combined, but a pruned code need not be 0": _with_bytes(
            lambda first, second, kept, _: first | second | kept * _FLAG
        ),
        "the larger code of each pair is kept; `kept` says which one it is": _with_bytes(
            lambda first, second, *_: torch.maximum(first, second) | (first > second) * _FLAG
        ),
        "the position is read off the codes, so that a kept code of 0 counts as pruned": (
            _with_bytes(
                lambda first, second, kept, _: (
                    _kept_of(first, second, kept) | (first * kept > second * ~kept) * _FLAG
                )
            )
        ),
        "a pair is made of the neighbours k and k + 1; its weights lie 32 apart": _with_fields(
            _neighbours_as_pairs
        ),
        "a pair lies 128 apart, half a tile; its weights lie 32 apart": _with_fields(
            _halves_as_pairs
        ),
        "the first pair is in the least significant byte": _with_words(
            lambda pairs: _words(pairs, _SHIFTS[::-1])
        ),
        "a word holds four neighbouring bytes; its bytes lie 32 pairs apart": _with_words(
            lambda pairs: _words(_bytes_in_order(pairs))
        ),
        "a word holds four neighbouring bytes, the first one in the least significant": (
            _with_words(lambda pairs: _words(_bytes_in_order(pairs), _SHIFTS[::-1]))
        ),
        "the row is not cut into tiles first, so that a word holds bytes from all over it": (
            _with_words(lambda pairs: _words(_bytes_over_row(pairs)))
        ),
        "only the last byte of each word is left: = instead of |=, or a shift of uint8": (
            _with_words(lambda pairs: _words(pairs * (_which_byte() == 3)))
        ),
        "the last pair of each word is missing": _with_words(
            lambda pairs: _words(pairs * (_which_byte() < 3))
        ),
        "the shift is 32 - 8 * p, one byte too far: pair p needs p + 1": _with_words(
            lambda pairs: _words(pairs, [shift + 8 for shift in _SHIFTS])
        ),
        "only the first tile of each row is packed": lambda case: _only_tiles(case, 1),
        "the ragged tail of K after the last whole tile is missing": lambda case: _only_tiles(
            case, case.W_q.shape[1] // TILE
        ),
        "the padding is in front of each row instead of behind it": _padded_in_front,
        "every row holds row 0": _with_words(lambda pairs: _words(pairs[:1].expand_as(pairs))),
    },
)


def _which_byte():
    return torch.arange(4).view(-1, 1)
