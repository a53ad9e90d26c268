"""Mistakes in a whole fused GEMV: the words and x that a step takes, the sum, and the scale.

Beside the parts of dequant_dot: `word_at` (tiles, lanes) is the place in a row of the word that
each lane takes in each step, `in_memory` makes of a row's number and this place the word's place in
`all_words`, `start` (tiles,) is the place in x where a step begins, and `scaled` makes y of the
sums (M, N) and the scales (N, 1).
"""

from functools import partial

import torch

from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.mistakes import fields, products, word_dots
from gemlite_lab.checker.mistakes.model import Mistake, Model
from gemlite_lab.checker.mistakes.raised_scales import raised_scales
from gemlite_lab.checker.mistakes.sums_apart import two_readings_of_x

_LANES = torch.arange(WARP_SIZE)
_TAKEN_AT_ONCE = 2, 4, 8, 16, 32, 64, 128, 256
_OF_ONE_WORD = ("the sum is held in", "the products and their sum are held in")


def parts_of(case):
    parts = word_dots.parts_of(case)
    words = parts.pop("words")
    tiles, count, lanes = parts["counted"].shape
    return parts | {
        "all_words": words.flatten(),
        "row": torch.arange(len(words)),
        "in_memory": partial(_in_rows, tiles * WARP_SIZE),
        "word_at": _steps(tiles) * WARP_SIZE + _LANES,
        "start": _steps(tiles) * count * lanes,
        "scaled": lambda sums, scales: sums * scales.T,
    }


def _steps(tiles):
    return torch.arange(tiles)[:, None]


def _in_rows(length, row, place):
    return row * length + place


def output(parts):
    words = parts["all_words"]
    at = parts["in_memory"](parts["row"].view(-1, 1, 1), parts["word_at"])
    taken = words[at.clamp(max=len(words) - 1)][:, :, None]
    codes = fields.codes(taken, parts).double()
    weights = parts["value"](codes, parts["zero"](parts["zeros"])) * parts["kept"](taken)
    sums = parts["add"](_met(parts), weights * parts["counted"])
    return word_dots.as_y(parts["scaled"](sums, parts["scales"]), parts["dtype"])


def _met(parts):
    place = parts["start"][:, :, None] + parts["place"]
    return parts["x"](parts["staged"][:, place.clamp(max=parts["staged"].shape[1] - 1)])


def mistakes_of(case):
    count = 32 // case.nbits
    tiles = -(-case.x.shape[1] // (WARP_SIZE * count))
    counted = torch.ones(tiles, count, WARP_SIZE).double()
    return [
        *_scale_mistakes(case),
        *(_step_mistakes(tiles, count) if tiles > 1 else []),
        *_row_mistakes(case, counted),
        *_end_mistakes(case, counted),
        *_sum_mistakes(),
        _neighbouring_x(count),
        two_readings_of_x(
            "the sum of x is that of lane 0 alone: the warp does not reduce it",
            in_their_sum=lambda x: x * (_LANES == 0),
        ),
        *(m for m in word_dots.mistakes_of(case) if not m.words.startswith(_OF_ONE_WORD)),
    ]


def _neighbouring_x(count):
    place = count * _LANES + torch.arange(count).view(-1, 1)
    words = "the codes of a word meet 8 neighbouring x, but they lie WARP_SIZE apart"
    return Mistake(words, {"place": place})


def _sum_mistakes():
    """Mistakes in the type of a lane's sum, which goes on from word to word."""
    half, bfloat16 = (lambda s: s.half().double()), (lambda s: s.bfloat16().double())
    adds = {
        "the sum of a lane is held in half precision": products.adding(of_sum=half),
        "the products and the sum of a lane are held in half precision":
            products.adding(of_product=half, of_sum=half),
        "the sum of a lane is held in bfloat16": products.adding(of_sum=bfloat16),
        "the sum of a lane is held in an integer, which cuts off the fraction":
            products.adding(of_sum=torch.trunc),
        "the sum of a lane is put in an integer behind its last word, which cuts off the fraction":
            products.adding(of_word=torch.trunc),
    }  # fmt: skip
    return [
        Mistake(words, {"add": _along_the_lane(add)}, is_alone=True) for words, add in adds.items()
    ]


def _along_the_lane(add):
    return lambda x, weights: add(_one_word(x), _one_word(weights))


def _one_word(terms):
    """(rows, tiles, fields, lanes) as if all codes of a lane were in one word."""
    return terms.flatten(1, 2)[:, None]


def _scale_mistakes(case):
    scales = {
        "the scale is left out": lambda sums, scales: sums + 0 * scales.T,
        "the scale divides; here it multiplies": lambda sums, scales: sums / scales.T,
        "the scale multiplies twice": lambda sums, scales: sums * scales.T**2,
        "the scale is added; it multiplies": lambda sums, scales: sums + scales.T,
        "every output takes the scale of output 0": lambda sums, scales: (
            sums * case.scales[0].double()
        ),
    }
    zeros = {
        "every output takes the zero-point of output 0": lambda zeros: (
            0 * zeros + case.zeros[0].double()
        ),
    }
    rounded = {
        "the scale is rounded to half precision": lambda s, scales: s * scales.half().double().T,
        "the scale is rounded to bfloat16": lambda s, scales: s * scales.bfloat16().double().T,
        "the sum is rounded to half precision before it is scaled": lambda s, scales: (
            s.half().double() * scales.T
        ),
        "y is rounded to half precision before it is rounded to X_T": lambda s, scales: (
            (s * scales.T).half().double()
        ),
        "the sum of a row is put in an integer, which cuts off the fraction": lambda s, scales: (
            s.trunc() * scales.T
        ),
        "y is put in an integer, which cuts off the fraction": lambda s, scales: (
            s * scales.T
        ).trunc(),
        **{
            words: lambda s, scales, raised=raised: s * raised(scales.double()).T
            for words, raised in raised_scales().items()
        },
    }
    return [
        *(Mistake(words, {"scaled": how}) for words, how in scales.items()),
        *(Mistake(words, {"zero": how}) for words, how in zeros.items()),
        *(Mistake(words, {"scaled": how}, is_alone=True) for words, how in rounded.items()),
    ]


def _step_mistakes(tiles, count):
    step = _steps(tiles)
    word_at = {
        "a lane takes the words of a stretch of its own; in each step the lanes take 32 neighbours":
            _LANES * tiles + step,
        "a lane takes the same word in every step": 0 * step + _LANES,
        "a lane goes on by one word a step; it goes on by 32": step + _LANES,
        "a lane goes on by 8 words a step; it goes on by 32": 8 * step + _LANES,
        "every lane takes the word of lane 0": step * WARP_SIZE + 0 * _LANES,
    }  # fmt: skip
    start = {
        "every step meets the x of the first one": 0 * step,
        "x goes on by 32 a step; a step has 256 codes": WARP_SIZE * step,
        "x goes on by 8 a step; a step has 256 codes": count * step,
    }
    return [
        *(Mistake(words, {"word_at": at}) for words, at in word_at.items()),
        *(Mistake(words, {"start": at}) for words, at in start.items()),
    ]


def _row_mistakes(case, counted):
    """Mistakes in where the words of a row lie, and in how many there are."""
    N, K = case.W_q.shape
    tiles, count, lanes = counted.shape
    words = K // count
    short = {"in_memory": partial(_in_rows, words)}
    at = _steps(tiles).view(-1, 1, 1) * lanes + _LANES
    ended = {"counted": counted * (at < words)}
    padded = "it is padded to whole tiles"
    of_padding = {
        f"a row of words is taken to have K / 8 of them; {padded}": short,
        f"the words of a row from K / 8 on are left out, and the next row begins there; {padded}":
            short | ended,
        "the words of a row from K / 8 on are left out; they have codes below K, too": ended,
    }  # fmt: skip
    by_tile = {
        "the words are taken to lie tile after tile, with all rows in each; they lie row after row":
            {"in_memory": lambda row, at: (at // lanes * N + row) * lanes + at % lanes},
    }  # fmt: skip
    mistakes = (of_padding if words < tiles * lanes else {}) | (by_tile if tiles > 1 else {})
    return [Mistake(words, parts) for words, parts in mistakes.items()]


def _end_mistakes(case, counted):
    """Mistakes in which codes at the end of a row are left out, as if all came so many at once."""
    K = case.W_q.shape[1]
    k = torch.arange(counted.numel()).view(counted.shape)
    return [
        Mistake(
            f"K is rounded down to a multiple of {size}, and the codes behind it are left out",
            {"counted": counted * (k < K // size * size)},
        )
        for size in _TAKEN_AT_ONCE
        if K % size
    ]


WHOLE_GEMV = Model(
    parts_of, mistakes_of, output, ("row", "zeros", "scales"), fitted=word_dots.WORD_DOT.fitted
)
