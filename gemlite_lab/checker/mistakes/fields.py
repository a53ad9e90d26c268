"""Mistakes in taking codes out of a word: shift, mask, sign, and the order of the fields.

Parts: `shift` (fields,) int64, `mask` int, `sign` (codes int64 -> codes), and `order`, which says
which field is taken for code j. A word is int64 without sign.
"""

import torch

from gemlite_lab.checker.mistakes.model import Mistake, without_twins

ALL_BITS = (1 << 32) - 1
_TOO_FAR = 63  # it leaves 0 of a word, as any shift by 32 or more does in the interpreter
_OPPOSITE = "the codes of a word are taken in the opposite order of their fields"


def codes(words, parts):
    """Codes (..., fields, lanes) of words (..., 1, lanes), as these parts take them."""
    shift = parts["shift"].view(-1, 1)
    return parts["sign"](parts["moved"](words, shift) & parts["mask"])[..., parts["order"], :]


def right_parts(shift, nbits):
    return {
        "shift": shift,
        "mask": 2**nbits - 1,
        "sign": lambda codes: codes,
        "moved": lambda words, shift: words >> shift,
        "order": list(range(len(shift))),
    }


def field_mistakes(shift, nbits, name="nbits", top_first=True):
    """Mistakes for fields of nbits at `shift`, in an exercise that calls their width `name`.

    Some mistakes give the same shifts for one width, and other ones for other widths. Of those all
    are kept where the fields begin at the low end, so that another case may tell them apart.
    """
    shifts = shift_mistakes(shift, nbits, name, top_first)
    others = [
        *mask_mistakes(nbits, name),
        *word_mistakes(nbits, name),
        *sign_mistakes(nbits, top=0 if top_first else len(shift) - 1),
        *order_mistakes(len(shift), is_told_by_shift=32 % nbits == 0),
    ]
    found = without_twins([*shifts, *others]) if top_first else [*shifts, *without_twins(others)]
    return found + power_as_xor_mistakes(nbits, name)


def mask_mistakes(nbits, name):
    code = 2**nbits - 1
    masks = {
        "the mask is one bit short, so that the highest bit of each code is lost": code >> 1,
        "the mask is one bit too long, so that a bit of the next code stays in": 2 * code + 1,
        "the mask lacks its lowest bit": code - 1,
        "the mask is one bit too high": 2 * code,
        "the mask is 15, whatever {} is": 15,
        "the mask is {0} * {0} - 1; it is 2 to the power {0}, minus 1": nbits * nbits - 1,
        "the mask is {}; it is {} ones": nbits,
        "the mask is 1 << {}, one bit above the code; it is that minus 1": 1 << nbits,
        "the mask is 1 << {} - 1, the top bit alone, because - comes before <<": 1 << nbits - 1,
        "the mask is 255, a whole byte": 255,
        **{f"the mask has {n} ones; it is {{}} ones": 2**n - 1 for n in range(1, 8)},
        "the shifted word is not masked, so that the codes above it stay in": ALL_BITS,
    }
    return [Mistake(w.format(name, name), {"mask": m}) for w, m in masks.items() if m != code]


def power_as_xor_mistakes(nbits, name):
    """Masks for which ^ was to raise 2 to a power; - comes before ^ where no brackets stand."""
    code, masks = 2**nbits - 1, {"2^{0} - 1": 2 ^ (nbits - 1), "(2^{0}) - 1": (2 ^ nbits) - 1}
    says = "the mask is {}, and ^ is XOR, no power: write (1 << {}) - 1"
    return [
        Mistake(says.format(how.format(name), name), {"mask": mask & ALL_BITS}, is_alone=True)
        for how, mask in masks.items()
        if mask != code
    ]


def word_mistakes(nbits, name):
    """Mistakes in the number that a word is taken for, before its bits are moved and masked."""
    code = 2**nbits - 1
    masked = {
        "the bits above a code are not masked off: the shifted word is clamped":
            lambda words, shift: (unsigned(words) >> shift).clamp(max=code),
        f"the remainder by 2**{name} - 1 is taken; it is by 2**{name}":
            lambda words, shift: (unsigned(words) >> shift) % code,
    }  # fmt: skip
    return [*divided_words(), *(Mistake(words, {"moved": how}) for words, how in masked.items())]


def divided_words():
    """Mistakes in a shift to the right, as by a division that rounds or by signed numbers.

    A float32 loses bits before the shift or the division: the name of that tells of neither.
    """
    moved = {
        "the word becomes a float32, which holds 24 bits":
            lambda words, shift: (unsigned(words).float() / 2.0**shift).long(),
        "the word becomes a float32, which holds 24 bits, and its quotient is rounded":
            lambda words, shift: (unsigned(words).float() / 2.0**shift).round().long(),
        "the signed word becomes a float32, which holds 24 bits, and its quotient is truncated":
            lambda words, shift: (signed(words).float() / 2.0**shift).trunc().long(),
        "the signed word becomes a float32, which holds 24 bits":
            lambda words, shift: (signed(words).float() / 2.0**shift).floor().long(),
        "the word is divided as a signed number, which rounds negative ones towards 0":
            lambda words, shift: (signed(words).double() / 2.0**shift).trunc().long(),
        "words with the highest bit set lose their sign, as by abs":
            lambda words, shift: signed(words).abs() >> shift,
        "words with the highest bit set, which are negative, are clamped to 0":
            lambda words, shift: signed(words).clamp(min=0) >> shift,
        "words with the highest bit set are clamped to 2**31 - 1":
            lambda words, shift: unsigned(words).clamp(max=2**31 - 1) >> shift,
    }  # fmt: skip
    return [Mistake(words, {"moved": how}) for words, how in moved.items()]


def unsigned(words):
    """Words of 32 bits as numbers without sign, int64."""
    return words & ALL_BITS


def signed(words):
    """Words of 32 bits as the int32 that have their bits, int64."""
    return unsigned(words) - (unsigned(words) >> 31 << 32)


def sign_mistakes(nbits, top):
    half = 1 << nbits - 1

    def extended(codes):
        return codes - 2 * half * (codes >= half)

    def top_extended(codes):
        codes = codes.clone()
        codes[..., top, :] = extended(codes[..., top, :])
        return codes

    def three_as_minus_1(codes):
        return codes.masked_fill(codes == 3, -1)

    of_two_bits = Mistake(
        "code 3 stands for -1; codes are unsigned, so it is 3", {"sign": three_as_minus_1}
    )
    return [
        *([of_two_bits] if nbits == 2 else []),
        Mistake("the codes are sign-extended; they are unsigned", {"sign": extended}),
        Mistake(
            "the code in the highest bits of each word is sign-extended: >> of a signed word keeps "
            "its sign; the other codes are right",
            {"sign": top_extended},
        ),
    ]


def order_mistakes(fields, is_told_by_shift=False):
    all_ = list(range(fields))
    orders = {} if is_told_by_shift else {_OPPOSITE: all_[::-1]}
    orders |= {
        "every code of a word is read from the field of the first one": [0] * fields,
        "every code of a word is read from the field of the last one": [fields - 1] * fields,
        "the fields of a word are counted from the second one on": [*all_[1:], 0],
    }
    if fields % 2 == 0:
        orders["the two codes of each pair of fields are swapped"] = [j ^ 1 for j in all_]
    if fields % 4 == 0:
        size = fields // 4
        bytes_ = [all_[i : i + size] for i in range(0, fields, size)]
        orders["the bytes of a word are taken in reverse order"] = sum(bytes_[::-1], [])
        halves = all_[fields // 2 :] + all_[: fields // 2]
        orders["the two halves of a word are swapped"] = halves
        split = [*range(0, fields, 2), *range(1, fields, 2)]
        orders["the even fields of a word are taken first, then the odd ones"] = split
        zipped = [j // 2 + j % 2 * (fields // 2) for j in all_]
        orders["the codes of a word are taken from its two halves in turn"] = zipped
    return [Mistake(words, {"order": order}) for words, order in orders.items() if order != all_]


def shift_mistakes(shift, nbits, name, top_first):
    wrong = (_shifts_from_the_top if top_first else _shifts_from_the_low_end)(shift, nbits)
    return [
        *(_moved_to_the_top(shift, nbits, name) if top_first else []),
        Mistake(
            "the mask is applied before the shift, where it keeps the lowest field alone",
            {"moved": lambda words, shift: (words & (1 << nbits) - 1) >> shift},
        ),
        Mistake(
            "the word is shifted to the left; it is to be shifted to the right",
            {"moved": lambda words, shift: words << shift & ALL_BITS},
        ),
        *(
            Mistake(words.format(name), {"shift": shifts})
            for words, shifts in wrong.items()
            if 0 <= shifts.min() and not torch.equal(shifts, shift)
        ),
    ]


def _shifts_from_the_top(shift, nbits):
    j = torch.arange(len(shift))
    return {
        "the shift is 32 - {} * (j + 2), that of the next code, and 0 for the last": (
            shift - nbits
        ).clamp(min=0),
        "the shift begins at 28, which is 32 - {} for 4 bits alone": 28 - nbits * j,
        "the shift goes on by 4 for each code, whatever {} is": 32 - nbits - 4 * j,
        "the shift and its beginning are those of 4 bits, whatever {} is": 28 - 4 * j,
        "the idle bits are taken to be at the top of the word": shift - 32 % nbits,
        "the shift is 31 - {} * (j + 1), one bit short": shift - 1,
        "the shift is 33 - {} * (j + 1), one bit too far": shift + 1,
        "the shift is 31 - {0} * j, as if a code had one bit; it is 32 - {0} * (j + 1)":
            31 - nbits * j,
        "the shift goes on by {0} - 1 for each code; it goes on by {0}":
            32 - nbits - (nbits - 1) * j,
        "the codes of a word are taken from the least significant bits up": nbits * j,
    }  # fmt: skip


def _moved_to_the_top(shift, nbits, name):
    """Mistakes where a code is moved to the top of its word, and then down to the low end."""
    j = torch.arange(len(shift)).view(-1, 1)
    moves = {
        f"the code on top is shifted down by 31 - {name}, one bit too little": (nbits, 31 - nbits),
        f"the code on top is shifted down by 33 - {name}, one bit too far": (nbits, 33 - nbits),
        f"the shift goes on by {name} + 1 for each code; it goes on by {name}":
            (nbits + 1, 32 - nbits),
    }  # fmt: skip
    return [
        Mistake(
            words,
            {
                "moved": lambda words, _, up=up, down=down: unsigned(words << up * j) >> down,
                "mask": ALL_BITS,
            },
            is_alone=True,
        )
        for words, (up, down) in moves.items()
    ]


def _shifts_from_the_low_end(shift, nbits):
    field = torch.arange(len(shift))
    shifts = {
        "the shift is {} * (field + 1), one field too far": shift + nbits,
        "the shift is {} * (field - 1), one field too short, and 0 for field 0": shift - nbits,
        "the shift is {} * field + 1, one bit too far": shift + 1,
        "the shift is {} * field - 1, one bit too short, and 0 for field 0": shift - 1,
        "the shift is field; a field is {0} wide, so it is {0} * field": field,
        **{f"the shift is {bits} * field, whatever {{}} is": bits * field for bits in (2, 3, 4)},
        "the shift is 8 * field, a whole byte": 8 * field,
        "the shift is 16 * field, two bytes": 16 * field,
        "the shift is ({} - 1) * field": (nbits - 1) * field,
        "the shift is ({} + 1) * field": (nbits + 1) * field,
        "the shift is {} * field / 2": shift // 2,
        "the shift is 2 * {} * field": 2 * shift,
        "the shift is field << {0}; it is {0} * field": field << nbits,
        "the shift is {0} << field; it is {0} * field": nbits << field,
        "the shift is 1 << field": 1 << field,
        "the shift is {0} + field; it is {0} * field": nbits + field,
        "the shift is {}, that of field 1, for every field": 0 * field + nbits,
        "the shift is 32 - {} * field": 32 - shift,
        "the shift is the remainder of {} * field by 8": shift % 8,
        "the shift is the remainder of {} * field by 16": shift % 16,
        "the fields are counted from the top; field 0 is at the low end": shift.flip(0),
    }
    return {words: wrong.clamp(0, _TOO_FAR) for words, wrong in shifts.items()}
