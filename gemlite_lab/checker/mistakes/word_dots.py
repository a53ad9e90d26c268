"""Mistakes in dequant_dot: the codes of a word, one after the other, times the x that they meet."""

import torch

from gemlite_edu.packing import pack_warped_int32
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.mistakes import fields, products, small_types
from gemlite_lab.checker.mistakes.levels import wrong_levels
from gemlite_lab.checker.mistakes.model import Mistake, Model
from gemlite_lab.checker.mistakes.numbers_of_codes import number_mistakes
from gemlite_lab.checker.mistakes.sums_apart import (
    code_without_x,
    zero_once_a_word,
    zero_without_x,
)

_LANES = torch.arange(WARP_SIZE)


def unsigned_words(words):
    """int32 words (N, words) as int64 without sign, (N, tiles, 1, lanes)."""
    return (words.long() & fields.ALL_BITS).view(len(words), -1, 1, WARP_SIZE)


def staged(x, tile):
    """x (M, padded K) float64: 0 up to whole tiles, and NaN behind, where no answer may read."""
    x = torch.nn.functional.pad(x.double(), (0, -x.shape[1] % tile))
    return torch.nn.functional.pad(x, (0, tile), value=torch.nan)


def shift_of(nbits):
    return 32 - nbits * (1 + torch.arange(32 // nbits))


def parts_of(case):
    shift = shift_of(case.nbits)
    words = unsigned_words(pack_warped_int32(case.W_q, case.nbits))
    return {
        **fields.right_parts(shift, case.nbits),
        **products.right_parts(torch.ones(words.shape[1], len(shift), WARP_SIZE).double()),
        "words": words,
        "kept": lambda words: 1,
        "staged": staged(case.x, len(shift) * WARP_SIZE),
        "place": right_place(len(shift)),
        "zeros": case.zeros.double().view(-1, 1, 1, 1),
        "scales": case.scales.double(),
        "dtype": torch.int64 if case.x.dtype == torch.int8 else case.x.dtype,
    }


def right_place(count):
    """(fields, lanes): where in a tile code j of each lane meets its x."""
    return WARP_SIZE * torch.arange(count).view(-1, 1) + _LANES


def met(parts):
    """The x (M, tiles, fields, lanes) that the codes meet."""
    tiles, count, lanes = parts["counted"].shape
    start = torch.arange(tiles).view(-1, 1, 1) * count * lanes
    place = (start + parts["place"]).clamp(max=parts["staged"].shape[1] - 1)
    return parts["x"](parts["staged"][:, place])


def output(parts):
    codes = fields.codes(parts["words"], parts).double()
    weights = parts["value"](codes, parts["zero"](parts["zeros"])) * parts["kept"](parts["words"])
    sums = parts["add"](met(parts), weights * parts["counted"])
    return as_y(sums * parts["scales"].T, parts["dtype"])


def as_y(sums, dtype):
    """Sums as an exact case expects them: rounded to the type of x, whole numbers for int8."""
    y = sums.to(dtype)
    return (y.half() if y.is_floating_point() else y).double()


def place_mistakes(count, gap=WARP_SIZE):
    """Mistakes in the index of x. gap: how far apart two codes of a word are."""
    j = torch.arange(count).view(-1, 1)
    apart = "the codes of a word lie WARP_SIZE apart"
    places = {
        f"code j meets x[j], but {apart}": j + _LANES,
        "every code of a word meets x[0]: code j meets x[j * WARP_SIZE]": 0 * j + _LANES,
        f"code j meets x[j * PACK_FACTOR], but {apart}": j * count + _LANES,
        "code j meets x[j + WARP_SIZE]; it is x[j * WARP_SIZE]": j + gap + _LANES,
        f"code j meets x[j * W_NBITS], but {apart}": j * (32 // count) + _LANES,
        f"code j meets x[j * WARP_SIZE / 2], but {apart}": j * gap // 2 + _LANES,
        f"code j meets x[2 * j * WARP_SIZE], but {apart}": j * gap * 2 + _LANES,
        "code j meets the x of code j + 1": (j + 1) * gap + _LANES,
        "code j meets the x of code j - 1, the first code its own": (j - 1).clamp(0) * gap + _LANES,
        "the lane is added to the index of x once more; x begins at the lane's own place":
            j * gap + 2 * _LANES,
        "every lane takes the x of lane 0": j * gap + 0 * _LANES,
    }  # fmt: skip
    right = right_place(count)
    told, found = {str(right.tolist())}, []
    for words, place in places.items():
        if str(place.tolist()) not in told:
            told.add(str(place.tolist()))
            found.append(Mistake(words, {"place": place}))
    return found


def mistakes_of(case):
    return [
        *products.value_mistakes(2 ** (case.nbits - 1)),
        *number_mistakes(2 ** (case.nbits - 1)),
        *products.signed_zero_mistakes(),
        products.rounded_to_even(),
        *products.rounding_mistakes(),
        *products.bfloat16_mistakes(),
        *small_types.half2_mistakes(),
        *small_types.cut_sums(),
        *products.clamp_mistakes(),
        skipped_words(),
        skipped_ones(),
        zero_without_x(),
        code_without_x(),
        *zero_once_a_word(),
        *small_types.late_x_mistakes(),
        *mistakes_of_any_format(case),
    ]


def skipped_words():
    return Mistake(
        "words that are 0 are skipped, but each of their codes stands for 0 - zero-point",
        {"kept": lambda words: words != 0},
        is_alone=True,
    )


def skipped_ones():
    return Mistake(
        "words of ones alone are skipped, but each of their codes stands for a number",
        {"kept": lambda words: words != fields.ALL_BITS},
        is_alone=True,
    )


def mistakes_of_any_format(case):
    """Mistakes that do not depend on what a code stands for."""
    shift = shift_of(case.nbits)
    counted = torch.ones(-(-case.x.shape[1] // (len(shift) * WARP_SIZE)), len(shift), WARP_SIZE)
    counted = counted.double()
    is_in_8_turns = torch.arange(len(shift)).view(-1, 1) < 8
    return [
        *fields.field_mistakes(shift, case.nbits, "W_NBITS"),
        *products.x_mistakes(),
        *([products.lost_subnormals()] if case.x.is_floating_point() else []),
        *products.type_mistakes(case.x.dtype),
        *products.count_mistakes(counted),
        *products.mistakes_of_counts(
            counted, {"the loop has 8 turns, as for 4 bits, whatever W_NBITS is": is_in_8_turns}
        ),
        Mistake(
            "the sum of each word is divided by the number of its codes",
            {"x": lambda x: x / x.shape[2]},
        ),
        *place_mistakes(len(shift)),
        *_begun_at_1(counted),
    ]


def _begun_at_1(counted):
    """Code j - 1 taken for code j, in a loop that begins at 1 and ends where it should."""
    place = right_place(counted.shape[1])
    words = (
        "the loop begins at j = 1 and takes code j - 1 of the word, which meets x[j * WARP_SIZE]"
    )
    return [
        Mistake(words, {"place": place.roll(-1, 0), "counted": without_last}, is_alone=True)
        for without_last in [counted * (place < place[-1])]
        if counted.shape[1] > 1
    ]


BY_ROW = ("words", "zeros", "scales")


def _wrong_codes(case, actual, is_equal):
    """The few codes that stand for other numbers than their own."""
    codes = torch.arange(2.0**case.nbits).double()
    return wrong_levels(codes, case, actual, is_equal, has_zeros=True)


WORD_DOT = Model(parts_of, mistakes_of, output, BY_ROW, fitted=_wrong_codes)
