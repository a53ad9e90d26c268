"""A model of mxfp4_encode, with the mistakes of its codes: the quotient, the level, the sign."""

from functools import partial

import torch

from gemlite_lab.checker.mistakes.model import Mistake, Model
from gemlite_lab.checker.mistakes.mxfp4_exponents import OF_FITTED, OF_LESS, OF_POWER, OF_REACH
from gemlite_lab.checker.mxfp4_cases import LEVELS, groups_of

_MILLIONTH = 1e-6


def _parts_of(case):
    return {
        "part": case.part,
        "w": groups_of(case.w),
        "reach": lambda w: w.double().abs().amax(2),
        "power": lambda reach: reach.log2().floor(),
        "less": lambda power: power - 2,
        "fitted": lambda exponents: exponents.clamp(min=-127),
        "steps": lambda w, scales, reach: w.double() / scales,
        "nearest": partial(_nearest, ties=_to_even),
        "cut": lambda codes: codes.clamp(max=7),
        "signed": lambda codes, steps: codes + 8 * ((steps < 0) & (codes > 0)),
    }


def _output(parts):
    w = parts["w"]
    reach = parts["reach"](w)
    exponents = parts["fitted"](parts["less"](parts["power"](reach)))
    if parts["part"] == "exponents":
        return _stored(exponents, 128)
    steps = parts["steps"](w, 2.0 ** exponents[:, :, None], reach[:, :, None])
    codes = parts["cut"](parts["nearest"](steps.double()))
    return _stored(parts["signed"](codes, steps), 0).flatten(1)


def _stored(numbers, below):
    """Whole numbers as 8 bits hold them, from -below on; this CPU makes 0 of what is no number."""
    numbers = numbers.double().nan_to_num(0.0, 0.0, 0.0).trunc()
    return (numbers + below) % 256 - below


def _nearest(steps, ties, levels=LEVELS):
    """The index of the level nearest to each |step|; beyond the last one it is 8, from 7 on.

    ties(index of the level below, step) -> the index for a step halfway between two.
    """
    sizes, middles = steps.abs().contiguous(), (levels[1:] + levels[:-1]) / 2
    below, up_to = (torch.bucketize(sizes, middles, right=right) for right in (False, True))
    codes = torch.where(below == up_to, below, ties(below, steps))
    return torch.where(sizes < 7, codes, 8).double()


def _to_even(below, steps):
    return below + below % 2


def _tied(ties):
    return partial(_nearest, ties=ties)


def _among(*levels):
    return partial(_nearest, ties=_to_even, levels=torch.tensor(levels, dtype=torch.float64))


def _level_below(steps):
    return (torch.bucketize(steps.abs(), LEVELS, right=True) - 1).double()


def _level_above(steps):
    return torch.bucketize(steps.abs(), LEVELS).double()


def _of_negative(code):
    """Codes where code(code of |w|) is that of a negative w which does not become 0."""
    return lambda codes, steps: torch.where((steps < 0) & (codes > 0), code(codes), codes)


def _rounded_to(part):
    """Codes of |step| that is rounded to a multiple of 1 / part first."""
    return lambda steps: _nearest((part * steps).round() / part, _to_even)


def _whole_from_4_on(steps):
    return _nearest(torch.where(steps.abs() < 4, steps, steps.round()), _to_even)


def _near_a_tie(steps):
    """Codes where a step within a millionth of the middle of two levels counts as a tie."""
    middles = (LEVELS[1:] + LEVELS[:-1]) / 2
    middle = middles[(steps.abs()[..., None] - middles).abs().argmin(-1)]
    is_near = (steps.abs() - middle).abs() <= _MILLIONTH * middle
    return _nearest(torch.where(is_near, middle, steps), _to_even)


_OF_STEPS = {
    "w is multiplied by s; it is divided by it": lambda w, scales, reach: w.double() * scales,
    "w is not divided by s": lambda w, scales, reach: w.double(),
    "w is divided by a / 6; it is divided by s, the power of two": 
        lambda w, scales, reach: w.double() / (reach / 6),
    "w is divided by the largest |w|; it is divided by s": 
        lambda w, scales, reach: w.double() / reach,
    "w is divided by the exponent; it is divided by 2 to that power":
        lambda w, scales, reach: w.double() / scales.log2(),
    "w / s is computed in float16": lambda w, scales, reach: w.half() / scales.half(),
    "w / s is rounded to float16": lambda w, scales, reach: (w.double() / scales).half(),
    "w / s is computed in bfloat16": lambda w, scales, reach: w.bfloat16() / scales.bfloat16(),
    "w is divided by 2 s": lambda w, scales, reach: w.double() / scales / 2,
    "w is divided by s / 2": lambda w, scales, reach: w.double() / scales * 2,
    "w is divided by 4 s, the power of two below a": lambda w, scales, reach: w.double() / scales/4,
}  # fmt: skip
_OF_NEAREST = {
    "a tie goes to the larger level; it goes to the even code": _tied(lambda below, _: below + 1),
    "a tie goes to the smaller level, the first that argmin finds; it goes to the even code":
        _tied(lambda below, _: below),
    "a tie goes to the odd code; it goes to the even one":
        _tied(lambda below, _: below + 1 - below % 2),
    "a tie goes to the larger number, also of negative ones; it goes to the even code":
        _tied(lambda below, steps: below + (steps > 0)),
    "a tie goes to the smaller number, also of negative ones; it goes to the even code":
        _tied(lambda below, steps: below + (steps < 0)),
    "a tie goes to the larger level, but from 1/4 to 0; it goes to the even code":
        _tied(lambda below, _: torch.where(below == 0, 0, below + 1)),
    "the level below |w| / s is taken; it is the nearest one": _level_below,
    "the level above |w| / s is taken, as bucketize on levels finds it; it is the nearest one":
        _level_above,
    "each code is larger by 1, as bucketize(..., right=True) on levels counts":
        lambda steps: _level_below(steps) + 1,
    "|w| / s is rounded to a whole number, and that is the code":
        lambda steps: steps.abs().round(),
    "|w| / s is rounded to a whole number first, and then to a level":
        _rounded_to(1),
    **{f"|w| / s is rounded to {parts} first, and then to a level": _rounded_to(part)
       for part, parts in ((2, "halves"), (4, "quarters"), (8, "eighths"))},
    "|w| / s is rounded to a whole number first and then to an even one, from 4 on":
        _whole_from_4_on,
    "a weight that lies within a millionth of the middle of two levels goes to the even code":
        _near_a_tie,
    "2 |w| / s is rounded, and that is the code; levels lie farther apart above 2":
        lambda steps: (2 * steps).abs().round(),
    "the level itself is returned; it is the code": 
        lambda steps: LEVELS[_nearest(steps, _to_even).clamp(max=7).long()],
    "the level itself, doubled, is returned; it is the code":
        lambda steps: 2 * LEVELS[_nearest(steps, _to_even).clamp(max=7).long()],
    "the levels of codes 0 and 1 are 1/2 and 3/4, as if e = 0 were no case of its own":
        _among(0.5, 0.75, 1, 1.5, 2, 3, 4, 6),
    "a level is twice as large, as if e had no bias": _among(0, 1, 2, 3, 4, 6, 8, 12),
    "the level of code 7 is 8; it is 6": _among(0, 0.5, 1, 1.5, 2, 3, 4, 8),
    "the level of code 5 is 2.5; it is 3": _among(0, 0.5, 1, 1.5, 2, 2.5, 4, 6),
}  # fmt: skip
_OF_CUT = {
    "nothing is cut: from 7 s on the code is 8 or 16; the largest code of a magnitude is 7":
        lambda codes: codes,
    "from 7 s on the code wraps around to 0; it is cut at 7": lambda codes: codes % 8,
    "codes of magnitudes are cut at 6; the largest is 7": lambda codes: codes.clamp(max=6),
}  # fmt: skip
_OF_SIGN = {
    "the sign is lost": lambda codes, steps: codes,
    "negative codes are in two's complement; bit 3 is the sign, the others the magnitude":
        _of_negative(lambda codes: 16 - codes),
    "negative codes are in two's complement of 8 bits; bit 3 is the sign":
        _of_negative(lambda codes: 256 - codes),
    "all four bits of a negative code are inverted; only bit 3 differs from the positive one":
        _of_negative(lambda codes: 15 - codes),
    "the sign is bit 7; it is bit 3": _of_negative(lambda codes: codes + 128),
    "the sign is bit 4; it is bit 3": _of_negative(lambda codes: codes + 16),
    "the sign is bit 0; it is bit 3": lambda codes, steps: 2 * codes + ((steps < 0) & (codes > 0)),
    "7 is added to negative codes; it is 8": _of_negative(lambda codes: codes + 7),
    "the sign is the other way round": lambda codes, steps: codes + 8 * ((steps > 0) & (codes > 0)),
    "a negative w that becomes 0 has the code 8; each 0 has the code 0":
        lambda codes, steps: codes + 8 * (steps < 0),
    "a negative w that becomes 0 has the code 8, and -0 too; each 0 has the code 0":
        lambda codes, steps: codes + 8 * steps.signbit(),
    "-0 has the code 8; each 0 has the code 0":
        lambda codes, steps: codes + 8 * (steps.signbit() & ((codes > 0) | (steps == 0))),
    "each 0 has the code 8; it has the code 0":
        lambda codes, steps: codes + 8 * ((steps < 0) | (codes == 0)),
    "w = 0 has the code 8, and a negative w that becomes 0 too; each 0 has the code 0":
        lambda codes, steps: codes + 8 * (steps <= 0),
    "the number of the level in ascending order, from -6 to 6, is returned; it is the code":
        lambda codes, steps: 7 + steps.sign() * codes,
    "the number of the level in ascending order, with two zeros, is returned; it is the code":
        lambda codes, steps: torch.where((steps < 0) & (codes > 0), 7 - codes, 8 + codes),
    "the number of the level in ascending order, with two zeros, is returned (0 is the 7th)":
        lambda codes, steps: torch.where(steps.sign() * codes > 0, 8 + codes, 7 - codes),
}  # fmt: skip
_BY_PART = {
    "reach": OF_REACH, "power": OF_POWER, "less": OF_LESS, "fitted": OF_FITTED,
    "steps": _OF_STEPS, "nearest": _OF_NEAREST, "cut": _OF_CUT, "signed": _OF_SIGN,
}  # fmt: skip


def _mistakes_of(case):
    found = [
        Mistake(words, {part: wrong})
        for part, mistakes in _BY_PART.items()
        for words, wrong in mistakes.items()
    ]
    for dtype in (torch.float16, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        found.append(Mistake(f"w is rounded to {name} first", {"w": groups_of(case.w.to(dtype))}))
    no_cut = {"cut": lambda codes: codes}
    clamped = {"signed": lambda codes, steps: (codes + 8 * (steps < 0)).clamp(max=15)}
    words = "codes are clamped at 15 after the sign; a magnitude is cut at 7 before it"
    return [*found, Mistake(words, no_cut | clamped)]


MXFP4 = Model(_parts_of, _mistakes_of, _output)
