"""Mistakes in the sparse dequant_dot: four pairs of a word, each with one kept weight."""

import torch

from gemlite_edu.packing import pack_sparse_1in2
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.mistakes import fields, products, word_dots
from gemlite_lab.checker.mistakes.model import Mistake, Model, without_twins
from gemlite_lab.checker.mistakes.numbers_of_codes import number_mistakes

_PAIRS = 4
_PAIR = torch.arange(_PAIRS).view(-1, 1)
_SHIFT = 24 - 8 * torch.arange(_PAIRS)


def parts_of(case):
    words = word_dots.unsigned_words(pack_sparse_1in2(case.W_q, case.kept))
    return {
        **fields.right_parts(_SHIFT, 7),
        **products.right_parts(torch.ones(words.shape[1], _PAIRS, WARP_SIZE).double()),
        "words": words,
        "position_moved": lambda words, shift: words >> shift,
        "position_bit": 7,
        "bit": lambda shifted: shifted & 1,
        "code_bit": 0,
        "position_order": [0, 1, 2, 3],
        "is_first": lambda bit: bit == 1,
        "kept": lambda words: 1,
        "staged": word_dots.staged(case.x, 2 * _PAIRS * WARP_SIZE),
        "places": _places(2 * _PAIR, 2 * _PAIR + 1),
        "zeros": case.zeros.double().view(-1, 1, 1, 1),
        "scales": case.scales.double(),
        "dtype": case.x.dtype,
    }


def _places(first, second):
    """(2, pairs, lanes): the places of x that the first and the second of each pair meet."""
    lanes = torch.arange(WARP_SIZE)
    return torch.stack([WARP_SIZE * first + lanes, WARP_SIZE * second + lanes])


def output(parts):
    codes = fields.codes(parts["words"] >> parts["code_bit"], parts).double()
    weights = parts["value"](codes, parts["zero"](parts["zeros"])) * parts["counted"]
    weights = weights * parts["kept"](parts["words"])
    bits = parts["position_moved"](parts["words"], parts["shift"].view(-1, 1))
    bits = bits >> parts["position_bit"]
    bits = parts["bit"](bits)[..., parts["position_order"], :]
    is_first = parts["is_first"](bits[..., parts["order"], :])
    first, second = _met(parts)
    sums = parts["add"](first, weights * is_first) + parts["add"](second, weights * ~is_first)
    return word_dots.as_y(sums * parts["scales"].T, parts["dtype"])


def _met(parts):
    tiles = parts["words"].shape[1]
    start = torch.arange(tiles).view(-1, 1, 1) * 2 * _PAIRS * WARP_SIZE
    for place in parts["places"]:
        yield parts["x"](parts["staged"][:, start + place])


def mistakes_of(case):
    counted = torch.ones(-(-case.x.shape[1] // (2 * _PAIRS * WARP_SIZE)), _PAIRS, WARP_SIZE)
    return without_twins(
        [
            Mistake(
                "the position bit is not masked off, so that it stays in the code", {"mask": 255}
            ),
            *fields.mask_mistakes(7, "7"),
            *fields.sign_mistakes(7, top=0),
            *_divided_words(),
            *fields.order_mistakes(_PAIRS),
            Mistake(
                "the shift is 24 - 7 * p; a pair takes 8 bits", {"shift": 24 - 7 * _PAIR.flatten()}
            ),
            Mistake(
                "the shift is 25 - 7 * p; a pair takes 8 bits", {"shift": 25 - 7 * _PAIR.flatten()}
            ),
            *_position_mistakes(),
            *_skipped(),
            *number_mistakes(64),
            *products.value_mistakes(64),
            products.rounded_to_even(),
            *products.x_mistakes(),
            products.lost_subnormals(),
            *products.type_mistakes(case.x.dtype),
            *products.count_mistakes(counted.double(), code="pair"),
            *products.rounding_mistakes(),
        ]
    )


def _divided_words():
    """Divisions, which round, in place of a shift: for the code alone, or for its position too."""
    divided = {
        "the word is divided as a signed number, which rounds negative ones towards 0":
            lambda words, shift: _divided(words, shift),
        "the word is shifted up until the byte of a pair is on top, and divided as a signed "
        "number, which rounds negative ones towards 0":
            lambda words, shift: _divided(words << 24 - shift, 24),
    }  # fmt: skip
    both = [Mistake(w, {"moved": how, "position_moved": how}) for w, how in divided.items()]
    return both + [Mistake(words, {"moved": how}) for words, how in divided.items()]


def _divided(words, shift):
    return (fields.signed(words).double() / 2.0**shift).trunc().long()


def _skipped():
    """Pairs or words that are 0, which hold a code 0 and not nothing."""
    kept = {
        "words that are 0 are skipped, but each of their codes stands for 0 - zero-point":
            lambda words: words != 0,
        "bytes that are 0 are skipped, but their code 0 stands for 0 - zero-point":
            lambda words: words >> _SHIFT.view(-1, 1) & 255 != 0,
    }  # fmt: skip
    return [Mistake(words, {"kept": how}, is_alone=True) for words, how in kept.items()]


def _position_mistakes():
    j, one = _PAIR, torch.ones_like(_PAIR)
    places = {
        "pair p meets x[2 * p] or x[2 * p + 1], but they lie WARP_SIZE apart":
            torch.stack([2 * j + torch.arange(WARP_SIZE), 2 * j + 1 + torch.arange(WARP_SIZE)]),
        "pair p meets x[p * WARP_SIZE] or the next; a pair takes two of them: 2 * p":
            _places(j, j + 1),
        "pair p meets x[p * WARP_SIZE], whichever is kept; it is 2 * p or 2 * p + 1":
            _places(j, j),
        "the second of pair p is taken from half a tile on, p + 4; it is 2 * p + 1":
            _places(j, j + 4),
        "the second of pair p is taken 16 x behind the first; it is WARP_SIZE behind":
            torch.stack([2 * j * WARP_SIZE + i + torch.arange(WARP_SIZE) for i in (0, 16)]),
        "2 * p, the place of the first of pair p, is not multiplied by WARP_SIZE":
            torch.stack([2 * j + i + torch.arange(WARP_SIZE) for i in (0, WARP_SIZE)]),
        "the two of a pair lie 64 apart, as in the trial of the lesson; a pair is 2 * p and "
        "2 * p + 1": _places(j + j // 2 * 2, j + j // 2 * 2 + 2),
        "every pair meets the x of the first one": _places(0 * j, one),
        "the first and the second x of each pair are exchanged": _places(2 * j + 1, 2 * j),
        "every pair meets the x of its first weight, whichever is kept": _places(2 * j, 2 * j),
        "every pair meets the x of its second weight, whichever is kept":
            _places(2 * j + 1, 2 * j + 1),
        "pair p meets the x of pair p + 1":
            _places((2 * j + 2).clamp(max=6), (2 * j + 3).clamp(max=7)),
    }  # fmt: skip
    bits = {
        "the position is read from bit 0; it is bit 7": 0,
        "the position is read from bit 6; it is bit 7": 6,
    }
    compared = {
        "the first of a pair counts as kept if any bit of its byte is set; bit 7 alone says so":
            lambda pair: (pair & 255) != 0,
        "the first of a pair counts as kept if no bit of its byte is set; bit 7 alone says so":
            lambda pair: (pair & 255) == 0,
        "the first of a pair counts as kept if any bit of the shifted word is set":
            lambda pair: pair != 0,
        "the first of a pair counts as kept if no bit of the shifted word is set":
            lambda pair: pair == 0,
        "the first of a pair counts as kept if its code is not 0; bit 7 says so":
            lambda pair: (pair & 127) != 0,
        "the first of a pair counts as kept if its code is 0; bit 7 says so":
            lambda pair: (pair & 127) == 0,
        "the shifted word is compared with FIRST_KEPT, without a mask": lambda pair: pair > 128,
        "the byte is compared with FIRST_KEPT by >, which leaves out code 0":
            lambda pair: (pair & 255) > 128,
        "the byte is compared with FIRST_KEPT by ==, which is true for code 0 alone":
            lambda pair: (pair & 255) == 128,
    }  # fmt: skip
    positions = {
        "the position of every pair is read from the lowest byte": [3, 3, 3, 3],
        "the position of every pair is read from the highest byte": [0, 0, 0, 0],
        "the positions are read in the opposite order of the bytes": [3, 2, 1, 0],
    }
    return [
        *(
            Mistake(
                words, {"position_bit": 0, "bit": lambda pair, is_set=is_set: is_set(pair).long()}
            )
            for words, is_set in compared.items()
        ),
        *(Mistake(words, {"position_order": order}) for words, order in positions.items()),
        *(Mistake(words, {"places": place}) for words, place in places.items()),
        *(Mistake(words, {"position_bit": bit}) for words, bit in bits.items()),
    ]


SPARSE_DOT = Model(parts_of, mistakes_of, output, word_dots.BY_ROW)
