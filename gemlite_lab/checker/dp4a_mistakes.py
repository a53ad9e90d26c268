"""What wrong answers to dequant_dot_dp4a give: {mistake in words: case -> output}."""

import torch

from gemlite_lab.checker.integer_cases import IntegerTiles, dots, signed

_FOUR = 4
_WORD = 0xFFFFFFFF
_OFFSET = 128


def _needs_offset(t):
    return t.case.nbits == 8


def _in_fours(fields):
    """(…, P, 32) filled up with 0 to whole fours as (…, fours, 4, 32)."""
    padded = torch.nn.functional.pad(fields, (0, 0, 0, -fields.shape[2] % _FOUR))
    return padded.unflatten(2, (-1, _FOUR))


def _in_bytes(fields):
    """Values as they are ORed into a word, each shifted to its byte with all its bits above."""
    fours = _in_fours(fields) & _WORD
    shifts = 8 * torch.arange(_FOUR).view(-1, 1)
    words = torch.zeros_like(fours[:, :, :, 0])
    for i in range(_FOUR):
        words |= fours[:, :, :, i] << 8 * i
    return signed(words.unsqueeze(3) >> shifts & 0xFF, 8).flatten(2, 3)


def _with_zeros(t, codes, x=None, sum_x=None):
    """The kernel's formula on other codes, x or sums of x: (code - zero) * x, exact."""
    x = t.x if x is None else x
    in_zeros = x if sum_x is None else sum_x
    ones = torch.ones_like(in_zeros[:1])
    return t.output(dots(codes, x) - t.zeros.squeeze(-1) * dots(ones, in_zeros))


def _only_dots(t, values):
    return t.output(dots(values, t.x))


def _kept(fields, keep):
    """`fields` with 0 where keep(j) is not true."""
    return fields * torch.tensor([keep(j) for j in range(fields.shape[2])]).view(-1, 1)


def _last_four(t):
    start = (t.fields - 1) // _FOUR * _FOUR
    return lambda j: j >= start


def _zero_per_word(t, times):
    return t.output(dots(t.codes, t.x) - times * t.zeros.squeeze(-1))


def _with_offset_added(t, times):
    """8-bit codes less the offset, which is then added back `times` times."""
    return _with_zeros(t, t.codes - _OFFSET * (1 - times)) if _needs_offset(t) else None


def _codes_shifted_with_sign(t):
    if not _needs_offset(t):
        return None
    return _with_zeros(t, _in_bytes(t.codes - _OFFSET) + _OFFSET)


def _not_masked(t):
    return _with_zeros(t, _in_bytes(t.read(_WORD))[:, :, : t.fields])


def _reversed_in_fours(t):
    reversed_codes = _in_fours(t.codes).flip(3).flatten(2, 3)
    return _with_zeros(t, reversed_codes, _in_fours(t.x).flatten(2, 3))


def _not_cleared(t):
    """Bytes of the fours before stay in: each is ORed with the one at its place so far."""
    if t.fields <= _FOUR:
        return None
    held = []
    for values in (t.codes, t.x & 0xFF):
        fours = _in_fours(values)
        for i in range(1, fours.shape[2]):
            fours[:, :, i] |= fours[:, :, i - 1]
        held.append(signed(fours.flatten(2, 3), 8))
    return _with_zeros(t, *held)


def _first_four_x(t):
    if t.fields <= _FOUR:
        return None
    return _with_zeros(t, t.codes, t.x[:, :, [j % _FOUR for j in range(t.fields)]])


def _in_16_bits(t):
    offset = _OFFSET if _needs_offset(t) else 0
    sum_x = dots(torch.ones_like(t.x[:1]), t.x)
    held = signed(dots(t.codes - offset, t.x), 16)
    return t.output(held + (offset - t.zeros.squeeze(-1)) * sum_x)


def _four_bit_fields(t):
    if t.case.nbits == 4:
        return None
    count = min(8, t.fields)
    return _with_zeros(t, t.read(0xF, nbits=4)[:, :, :count], t.x[:, :, :count])


def _byte_of(values):
    return signed(values, 8)


_MODELS = {
    "the zero-point is forgotten": lambda t: _only_dots(t, t.codes),
    "the zero-point is added instead of subtracted": lambda t: _only_dots(t, t.codes + t.zeros),
    "the zero-point is subtracted once per word; it is zero times the sum of x": (
        lambda t: _zero_per_word(t, 1)
    ),
    "the zero-point is taken times the number of codes; it is zero times the sum of x": (
        lambda t: _zero_per_word(t, t.fields)
    ),
    "only the last four x of a word are in the sum of x": (
        lambda t: _with_zeros(t, t.codes, sum_x=_kept(t.x, _last_four(t)))
    ),
    "the sum of x is taken with 1, which is 1 in one byte only; in all four it is 0x01010101": (
        lambda t: _with_zeros(t, t.codes, sum_x=_kept(t.x, lambda j: j % _FOUR == 0))
    ),
    "the sum of x is one of unsigned bytes; x is signed": (
        lambda t: _with_zeros(t, t.codes, sum_x=t.x & 0xFF)
    ),
    "code - zero is put in a signed byte, which ends at 127": (
        lambda t: _only_dots(t, _byte_of(t.codes - t.zeros))
    ),
    "8-bit codes are put in signed bytes as they are: from 128 on they count as negative": (
        lambda t: _with_zeros(t, _byte_of(t.codes))
    ),
    "an offset is taken from 8-bit codes and not added back": lambda t: _with_offset_added(t, 0),
    "an offset is taken from 8-bit codes and then taken once more": (
        lambda t: _with_offset_added(t, -1)
    ),
    "a negative code - 128 is shifted into its byte with its sign, which fills the bytes above": (
        _codes_shifted_with_sign
    ),
    "a negative x is shifted into its byte with its sign, which fills the bytes above": (
        lambda t: _with_zeros(t, t.codes, _in_bytes(t.x)[:, :, : t.fields])
    ),
    "of each four, codes and x are in opposite orders": _reversed_in_fours,
    "the bytes are not cleared before the next four codes and x": _not_cleared,
    "every four codes meet the first four x of the word": _first_four_x,
    "only the last four codes of a word count: the third argument of __dp4a is the sum so far": (
        lambda t: _with_zeros(t, _kept(t.codes, _last_four(t)))
    ),
    "only the first four codes of each word are used": (
        lambda t: _only_dots(t, _kept(t.codes - t.zeros, lambda j: j < _FOUR))
    ),
    "the codes behind the last whole four of a word are left out": (
        lambda t: _only_dots(t, _kept(t.codes - t.zeros, lambda j: j < t.fields // _FOUR * _FOUR))
    ),
    "the sum is held in 16 bits": _in_16_bits,
    "the codes of a word are taken from the least significant bits up": (
        lambda t: _only_dots(t, t.codes.flip(2) - t.zeros)
    ),
    "the shift is 32 - W_NBITS * j, one code too far: code j needs j + 1": (
        lambda t: _only_dots(t, t.read(shift=lambda j: -t.case.nbits * j % 32) - t.zeros)
    ),
    "the shifted word is not masked, so that the codes above it stay in": _not_masked,
    "the idle bits are taken to be at the top of the word": (
        lambda t: _only_dots(t, t.read(shift=lambda j: t.case.nbits * (t.fields - 1 - j)) - t.zeros)
    ),
    "the mask is 15, whatever W_NBITS is": lambda t: _only_dots(t, t.read(0xF) - t.zeros),
    "the word is read as eight 4-bit codes, whatever W_NBITS is": _four_bit_fields,
    "code j meets x[j], but the codes of a word lie WARP_SIZE apart": (
        lambda t: _with_zeros(t, t.codes, t.x_at(1))
    ),
    "every code of a word meets x[0]: code j meets x[j * WARP_SIZE]": (
        lambda t: _with_zeros(t, t.codes, t.x_at(0))
    ),
}

MISTAKES = {
    name: lambda case, model=model: model(IntegerTiles(case)) for name, model in _MODELS.items()
}
