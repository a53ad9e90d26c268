"""Mistakes of mxfp4_encode in the exponents: the largest |w|, its power of two, the ends.

Each is {mistake in words: the wrong value of a part of the model in `mxfp4`}.
"""

import torch

from gemlite_lab.checker.mxfp4_cases import GROUP, LEVELS, SMALLEST_EXPONENT

_FLOORS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12, 1e-15, 1e-16, 1e-20, 1e-30)
_OTHER_ZEROS = (-128, -126, -24, -14, -3, -2, -1, 0, 1, 2, 127)


def _log2_as(dtype):
    return lambda reach: reach.to(dtype).log2().floor().double()


def _by_ln(dtype):
    two = torch.tensor(2.0, dtype=dtype)
    return lambda reach: (reach.to(dtype).log() / two.log()).floor().double()


def _every_nth(w):
    """The groups of reshape(N, 32, K / 32), in which the members of a group lie apart."""
    rows, groups, _ = w.shape
    return w.flatten(1).unflatten(1, (GROUP, groups)).transpose(1, 2)


def _shared(reach, axis):
    return reach.amax(axis, keepdim=True).expand_as(reach)


def _zeros_with(exponent):
    return lambda exponents: torch.where(exponents.isinf(), exponent, exponents.clamp(min=-127))


def _of_smaller_error(w):
    """a, or 2 a where the exponent larger by 1 has the smaller sum of squared errors."""
    reach = w.double().abs().amax(2)
    errors = []
    for power in (2, 1):
        scales = 2.0 ** (reach.log2().floor() - power).clamp(min=SMALLEST_EXPONENT)[:, :, None]
        off = ((w.double() / scales).abs()[..., None] - LEVELS).abs().amin(3) * scales
        errors.append(off.square().sum(2))
    return torch.where(errors[1] < errors[0], 2 * reach, reach)


def _floored(floor):
    return lambda w: w.double().abs().amax(2).clamp(min=floor)


def _raised(little):
    return lambda w: w.double().abs().amax(2) + little


def _frexp_of_the_largest(w):
    """The size of the largest w; beside other w, 0 has the power of two -1, as of frexp."""
    largest = w.double().amax(2)
    return largest.abs().masked_fill((largest == 0) & w.any(2), 0.5)


OF_REACH = {
    "the largest w is taken, not the largest |w|": lambda w: w.double().amax(2),
    "the size of the largest w is taken, not the largest |w|": lambda w: w.double().amax(2).abs(),
    "the size of the largest w is taken, not the largest |w|; where all others are negative and it "
    "is 0, the exponent is -3, from frexp": _frexp_of_the_largest,
    "the largest w is taken, not the largest |w|, and a group of negative w has the least exponent":
        lambda w: w.double().amax(2).clamp(min=0),
    "the smallest |w| is taken, not the largest": lambda w: w.double().abs().amin(2),
    "the mean |w| is taken, not the largest": lambda w: w.double().abs().mean(2),
    "the sum of |w| is taken, not the largest": lambda w: w.double().abs().sum(2),
    "the root of the mean square is taken, not the largest |w|":
        lambda w: w.double().square().mean(2).sqrt(),
    "largest w - smallest w is taken, not the largest |w|":
        lambda w: w.double().amax(2) - w.double().amin(2),
    "a row has one scale; each 32 neighbours along K have their own":
        lambda w: _shared(w.double().abs().amax(2), 1),
    "all of w has one scale; each 32 neighbours along K have their own":
        lambda w: _shared(w.double().abs().amax(2), (0, 1)),
    "the scale of a group comes of the same 32 columns in all rows":
        lambda w: _shared(w.double().abs().amax(2), 0),
    "a group's scale comes of every (K / 32)th weight, as of reshape(N, 32, K / 32)":
        lambda w: _every_nth(w).double().abs().amax(2),
    "of e and e + 1 the exponent with the smaller sum of squared errors is taken; the exercise "
    "asks for e": _of_smaller_error,
    **{f"the largest |w| counts as at least {floor:g}, in a group of zeros too": _floored(floor)
       for floor in _FLOORS},
    **{f"{floor:g} is added to the largest |w|": _raised(floor) for floor in _FLOORS},
}  # fmt: skip
OF_POWER = {
    "log2 a is rounded up; it is rounded down": lambda reach: reach.log2().ceil(),
    "log2 a is rounded to the nearest; it is rounded down": lambda reach: reach.log2().round(),
    "log2 a is cut off towards 0, as .to(torch.int8) does; floor rounds down":
        lambda reach: reach.log2().trunc(),
    "log2 a - 2 is cut off towards 0, as .to(torch.int8) does; floor rounds down":
        lambda reach: (reach.log2() - 2).trunc() + 2,
    "the exponent is 1 too small where a is a power of two, as of ceil(log2 a) - 3, or of a "
    "logarithm made a little smaller":
        lambda reach: reach.log2().ceil() - 1,
    "the scale is a / 6, rounded down to a power of two":
        lambda reach: (reach / 6).log2().floor() + 2,
    "the scale is a / 6, rounded up to a power of two": lambda reach: (reach / 6).log2().ceil() + 2,
    "the scale is a / 6, rounded to the nearest power of two":
        lambda reach: (reach / 6).log2().round() + 2,
    "the scale is a / 7, rounded down to a power of two":
        lambda reach: (reach / 7).log2().floor() + 2,
    "the scale is a / 7, rounded up to a power of two": lambda reach: (reach / 7).log2().ceil() + 2,
    "log2 is taken in float32, which is rounded up just below a power of two; take float64, or "
    "torch.frexp": _log2_as(torch.float32),
    "log2 is taken in float16, which rounds it": _log2_as(torch.float16),
    "log2 is taken in bfloat16, which rounds it": _log2_as(torch.bfloat16),
    "log2 is ln a / ln 2, which is rounded below some powers of two; take log2, or torch.frexp":
        _by_ln(torch.float64),
    "log2 is ln a / ln 2 in float32, which is rounded beside powers of two; take log2 in float64, "
    "or torch.frexp": _by_ln(torch.float32),
    "a little, such as 1e-6, is added to log2 a: just below a power of two it is one too large":
        lambda reach: (reach.log2() + 1e-6).floor(),
    "a little, such as 1e-3, is added to log2 a: just below a power of two it is one too large":
        lambda reach: (reach.log2() + 1e-3).floor(),
    "the logarithm is the natural one; it is the one to the base 2":
        lambda reach: reach.log().floor(),
    "the logarithm is the one to the base 10; it is the one to the base 2":
        lambda reach: reach.log10().floor(),
    "the exponents are those of 1 / s": lambda reach: 4 - reach.log2().floor(),
}  # fmt: skip
OF_LESS = {
    "2 is not subtracted: s is the power of two below a, and the levels above 2 are hardly used":
        lambda power: power,
    "1 is subtracted from floor(log2 a), or 2 from the exponent of frexp, which is larger by 1; it "
    "is 2, the exponent of the largest level, 6": lambda power: power - 1,
    "3 is subtracted; it is 2, the exponent of the largest level, 6": lambda power: power - 3,
    "2 is added; it is subtracted": lambda power: power + 2,
    "127 is added to the exponents, as E8M0 stores them; the exercise asks for them without":
        lambda power: power - 2 + 127,
}  # fmt: skip
OF_FITTED = {
    "exponents below -127 stay, or wrap around; E8M0 ends at -127": lambda exponents: exponents,
    "exponents are let down to -128; E8M0 ends at -127": lambda e: e.clamp(min=-128),
    "exponents are not let below -126; E8M0 ends at -127": lambda e: e.clamp(min=-126),
    "exponents are not let below 0": lambda exponents: exponents.clamp(min=0),
    "exponents are not let below -24, the smallest power of two of float16":
        lambda exponents: exponents.clamp(min=-24),
    "exponents are not let below -14, the smallest normal one of float16":
        lambda exponents: exponents.clamp(min=-14),
    "exponents are not let above 8": lambda exponents: exponents.clamp(-127, 8),
    "exponents are kept from -8 to 7, those of 4 bits": lambda exponents: exponents.clamp(-8, 7),
    **{f"a group of zeros has the exponent {exponent}; it is -127": _zeros_with(exponent)
       for exponent in _OTHER_ZEROS},
}  # fmt: skip
