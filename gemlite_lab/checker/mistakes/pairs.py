"""Mistakes in dequant_pair: which two codes are taken, and what number becomes of each.

Pair i of 64 neighbouring k is 32 bits: those of the even k in its lower half, of the odd k in the
upper. In each half are four fields, of k that lie 16 apart.
"""

from functools import partial

import torch

from gemlite_edu.numbers.formats import NF4
from gemlite_lab.checker.mistakes.levels import wrong_levels
from gemlite_lab.checker.mistakes.model import Mistake, Model, without_twins

_FIELDS, _PAIRS = 4, 8
_TILE = 2 * _FIELDS * _PAIRS
_LEVELS = torch.tensor(NF4.levels).half().double()
_F = torch.arange(_FIELDS)


def _parts_of(case, value):
    padded = torch.nn.functional.pad(case.W_q.long(), (0, -case.x.shape[1] % _TILE))
    fields = padded.view(len(padded), -1, _FIELDS, _PAIRS, 2)
    shifts = 4 * _F.view(-1, 1, 1) + 16 * torch.arange(2)
    return {
        "pairs": (fields << shifts).sum((2, 4)),  # (N, K / 64, 8), 32 bits each
        "x_given": case.x.double(),
        "scales": case.scales.half().double(),
        "zeros": case.zeros.half().double(),
        "group_size": case.group_size,
        "value": value,
        "added": torch.zeros(_FIELDS, 1, 2).double(),
        "times": torch.ones(_FIELDS, 1, 2).double(),
        **{f"{name}_{half}": part for half in _HALVES for name, part in _of_half(half).items()},
    }


_HALVES = {"lower": 0, "upper": 16}


def _of_half(half):
    """The parts that take the code of one half of `pairs`, for each field f."""
    return {"shift": _HALVES[half] + 4 * _F, "code": lambda bits: bits & 15, "used": 1}


def _codes(parts, half):
    """(N, tiles, fields, pairs)."""
    bits = parts["pairs"][:, :, None] >> parts[f"shift_{half}"].view(-1, 1)
    return parts[f"code_{half}"](bits)


def _output(parts):
    values = [parts["value"](_codes(parts, h)) * parts[f"used_{h}"] for h in _HALVES]
    both = torch.stack(values, -1) * parts["times"] + parts["added"]
    weights = both.flatten(1)[:, : parts["x_given"].shape[1]]
    zeros, scales = (
        parts[name].repeat_interleave(parts["group_size"], 1) for name in ("zeros", "scales")
    )
    return (parts["x_given"] @ ((weights - zeros) * scales).T).half().double()


def _selection_mistakes():
    shifts = {
        "every f gives field 0: the pairs are not shifted": 0 * _F,
        "every f gives field 3": 0 * _F + 12,
        "the shift is 12 - 4 * f: field 0 is in the lowest bits": 12 - 4 * _F,
        "the shift is 4 * (f + 1), one field too far": 4 * _F + 4,
        "the shift is 8 * f, a whole byte; a field has 4 bits, so it is 4 * f": 8 * _F,
        "the shift is f; a field has 4 bits, so it is 4 * f": _F,
        "the shift is 2 * f; a field has 4 bits, so it is 4 * f": 2 * _F,
        "the shift is 3 * f; a field has 4 bits, so it is 4 * f": 3 * _F,
        "the two fields of each byte are swapped": 4 * (_F ^ 1),
        "the two bytes of each half are swapped": 4 * (_F ^ 2),
        "fields 1 and 2 are swapped, as in an order 0 2 1 3": torch.tensor([0, 8, 4, 12]),
        "fields 2 and 3 are taken for 0 and 1: nothing shifts them down": 4 * (_F % 2),
        "fields 0 and 1 are taken for 2 and 3": 8 + 4 * (_F % 2),
        "the shift is 4 * (f / 2): fields 1 and 3 are not reached": 4 * (_F // 2),
        "the shift is 8 * (f / 2): fields 1 and 3 are not reached": 8 * (_F // 2),
    }
    masks = {"the mask is 15 << 4": 15 << 4, "the mask is 15 << 8": 15 << 8}
    masks |= {f"the mask is {m}; it is 15": m for m in (1, 2, 3, 4, 7, 8, 12, 14, 16, 31, 63, 255)}
    codes = {words: lambda bits, m=mask: bits & m for words, mask in masks.items()} | {
        "the bits of the codes are read in reverse order": lambda bits: (
            (bits & 1) << 3 | (bits & 2) << 1 | (bits & 4) >> 1 | (bits & 8) >> 3
        ),
        "all bits of the codes are turned": lambda bits: 15 - (bits & 15),
        "the codes are one too large": lambda bits: ((bits & 15) + 1) % 16,
        "the codes are one too small": lambda bits: ((bits & 15) - 1) % 16,
        "the highest bit of the codes is turned": lambda bits: bits & 15 ^ 8,
    }
    found = [
        *_of_halves("shift", shifts, lambda shift, half: shift + _HALVES[half]),
        *_of_halves("code", codes, lambda code, half: code),
    ]
    lower, upper = (_HALVES[half] + 4 * _F for half in ("lower", "upper"))
    exchanged = {
        "the two halves are swapped": {"shift_lower": upper, "shift_upper": lower},
        "both are the code of the lower half": {"shift_upper": lower},
        "both are the code of the upper half": {"shift_lower": upper},
        "the second code is field f + 1 of the lower half; it is field f of the upper one":
            {"shift_upper": lower + 4},
        "the upper half is taken from bit 12 on; it begins at bit 16": {"shift_upper": upper - 4},
        "the upper half is taken from bit 8 on; it begins at bit 16": {"shift_upper": upper - 8},
        "the code of the upper half is masked away and counts as 0": {"used_upper": 0},
        "the code of the lower half is masked away and counts as 0": {"used_lower": 0},
        "field 3 of the upper half, the highest bits, is signed: >> of an int keeps the sign":
            {"code_upper": _with_signed_top},
    }  # fmt: skip
    return [*(Mistake(words, parts) for words, parts in exchanged.items()), *found]


def _with_signed_top(bits):
    """The codes (N, tiles, fields, pairs) of these bits; those of the last field are -8 to 7."""
    codes = bits & 15
    return codes - 16 * (codes >= 8) * (_F == _FIELDS - 1).view(-1, 1)


def _of_halves(name, wrong, of_half):
    """Mistakes in both halves, in the lower one, and in the upper one."""
    return [
        Mistake(
            words + said, {f"{name}_{half}": of_half(part, half) for half in halves}, bool(said)
        )
        for words, part in wrong.items()
        for halves, said in (
            (("lower", "upper"), ""),
            (("lower",), " (for the lower half alone)"),
            (("upper",), " (for the upper half alone)"),
        )
    ]


def _number(code):
    return code.double()


def _mistakes_of_codes(case):
    values = {
        "the codes are taken for signed ones, -8 to 7": lambda c: (c - 16 * (c >= 8)).double(),
        "8 is taken off the codes: zero-points are the kernel's business": lambda c: c - 8.0,
        "the codes are taken from 0: their sign is the other one": lambda c: -c.double(),
        "the codes are taken from 15": lambda c: 15.0 - c,
        "the codes are squared": lambda c: c.double() ** 2,
        "a code is a half of 2^-24 times itself, without exponent": lambda c: c * 2.0**-24,
    }
    every, odd, even = [1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0]
    where = {"on all fields": every, "on fields 1 and 3": odd, "on fields 0 and 2": even}
    numbers = (
        1024,
        -1024,
        64,
        -64,
        960,
        -960,
        1,
        -1,
        8,
        512,
        -512,
        2048,
        1032,
        -1032,
        128,
        -63,
        63,
    )
    added = {
        f"{number} is left {on}" if number > 0 else f"{-number} too many is taken off{on[2:]}":
            (number, at)
        for number in numbers
        for on, at in where.items()
    }  # fmt: skip
    fields = ("0 to 3", every), ("1 and 3", odd), ("0 and 2", even), ("2 and 3", [0, 0, 1, 1])
    factors = {
        "a sixteenth of": 1 / 16,
        "sixteen times": 16,
        "half of": 0.5,
        "twice": 2,
        "256 times": 256,
    }
    times = {
        f"fields {name} come out as {words} what they are": (factor, at)
        for words, factor in factors.items()
        for name, at in fields
    }  # fmt: skip
    return without_twins(
        [
            *(Mistake(words, {"value": value}) for words, value in values.items()),
            *_selection_mistakes(),
            *_one_half_mistakes(),
            *(
                Mistake(words, {"added": float(number) * _by_field(at)})
                for words, (number, at) in added.items()
            ),
            *(
                Mistake(words, {"times": 1 + (factor - 1) * _by_field(at)})
                for words, (factor, at) in times.items()
            ),
        ]
    )


def _one_half_mistakes():
    """Mistakes in a constant that has its 16 bits once, in one half of the 32."""
    lower, upper = (torch.tensor(of_halves).double() for of_halves in ([1, 0], [0, 1]))
    once = "as_half2(0x6400) has it in the lower half alone, as_half2(0x64006400) in both"
    changes = {
        f"1024 is taken off the lower half alone: {once}": {"added": 1024 * upper},
        "1024 is taken off the upper half alone": {"added": 1024 * lower},
        f"the lower half alone is given the exponent, and 1024 is taken off it alone: {once}":
            {"times": lower + 2.0**-24 * upper},
    }  # fmt: skip
    return [
        Mistake(words, {name: of_halves.expand(_FIELDS, 1, 2) for name, of_halves in part.items()})
        for words, part in changes.items()
    ]


def _by_field(at):
    return torch.tensor(at).double().view(_FIELDS, 1, 1).expand(_FIELDS, 1, 2)


def _level(code):
    """The level of a code, NaN where the table has none."""
    return _LEVELS[code.clamp(0, 15)].where((code >= 0) & (code < 16), torch.nan)


def _mistakes_of_levels(case):
    values = {
        "the codes themselves are given, not their levels": _number,
        "8 is taken off the codes, as if they were evenly spaced": lambda c: c - 8.0,
        "the codes are taken as evenly spaced from -1 to 1": lambda c: (
            (c * 2 / 15 - 1).half().double()
        ),
        "the signs of the levels are lost": lambda c: _level(c).abs(),
        "the sign of every level is the other one": lambda c: -_level(c),
        "the levels are kept in integers, which cuts off their fractions": lambda c: _level(
            c
        ).trunc(),
        "the levels are doubled": lambda c: 2 * _level(c),
        "the levels have the precision of bfloat16": lambda c: (
            torch.tensor(NF4.levels).bfloat16().double()[c.clamp(0, 15)]
        ),
        "64 is put on the levels, which rounds them, and taken off again": lambda c: (
            (_level(c) + 64).half().double() - 64
        ),
        "1024 is put on the levels, which rounds them, and taken off again": lambda c: (
            (_level(c) + 1024).half().double() - 1024
        ),
        "the levels are rounded to two digits behind the point": lambda c: (
            (_level(c) * 100).round() / 100
        ),
    }
    numbers = (64, -64, 1024, -1024, 1, -1)
    return [
        *(Mistake(words, {"value": value}) for words, value in values.items()),
        *_selection_mistakes(),
        Mistake("the table is read backwards", {"value": lambda c: _level(15 - c)}),
        Mistake(
            "the table is read one place too far, from its second level on",
            {"value": lambda c: _level((c + 1) % 16)},
        ),
        *(
            Mistake(
                f"{n} stays on the levels" if n > 0 else f"{-n} too many is taken off the levels",
                {"added": float(n) * _by_field([1, 1, 1, 1])},
            )
            for n in numbers
        ),
    ]


_BY_ROW = ("pairs", "scales", "zeros")
PAIR = Model(lambda case: _parts_of(case, _number), _mistakes_of_codes, _output, _BY_ROW)
PAIR_TABLE = Model(
    lambda case: _parts_of(case, _level), _mistakes_of_levels, _output,
    _BY_ROW, fitted=partial(wrong_levels, _LEVELS, has_zeros=True),
)  # fmt: skip
