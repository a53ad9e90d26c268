"""What wrong answers to dequant_pair give: {mistake in words: case -> output}."""

import torch

from gemlite_lab.checker.pair_mistakes import MASK, WRONG_CODES, halves, mistakes_of, right_codes

_MAGIC = 0x64006400


def _as_halves(bits):
    """The numbers, float64 (…, 2), that 32 bits are as two halves."""
    return halves(bits).to(torch.int16).view(torch.float16).double()


def _rounded(values):
    """As a half holds them."""
    return values.half().double()


def _down(pairs, f):
    """The pairs with field f in the lowest bits of both halves."""
    return pairs >> 4 * f


def _read(bits_of, taken_off=1024.0):
    """What bits_of(pairs, f) reads as two halves, less a number."""
    return lambda pairs, f: _rounded(_as_halves(bits_of(pairs, f)) - taken_off)


def _with_mask(mask):
    return _read(lambda pairs, f: _down(pairs, f) & mask | _MAGIC)


def _with_magic(magic, taken_off):
    return _read(lambda pairs, f: _down(pairs, f) & MASK | magic, taken_off)


def _in_place(of_even, of_odd):
    """Fields 1 and 3 stay four bits up. of_even, of_odd: what is made of the halves read."""

    def decode(pairs, f):
        place = f % 2 * 4
        read = _as_halves(pairs >> (4 * f - place) & MASK << place | _MAGIC)
        return _rounded(of_odd(read) if place else of_even(read))

    return decode


def _less_1024(read):
    return read - 1024


def _of_odd(of_odd):
    return _in_place(_less_1024, of_odd)


def _where_they_are(pairs, f):
    read = _as_halves(pairs & MASK << 4 * f | _MAGIC)
    return _rounded((read - 1024) / 16**f)


def _of_codes(value_of):
    return lambda pairs, f: value_of(right_codes(pairs, f).double())


_DECODERS = {
    # what is taken off, and when
    "1024 is not taken off again": _with_magic(_MAGIC, 0),
    "1024 is added; it is to be taken off": _with_magic(_MAGIC, -1024.0),
    "1023 is taken off, not 1024": _with_magic(_MAGIC, 1023.0),
    "1032 is taken off, 8 too many: zero-points are the kernel's business": (
        _with_magic(_MAGIC, 1032.0)
    ),
    "the half is taken off 1024; it is 1024 that is taken off the half": _of_codes(lambda c: -c),
    "nothing is taken off: 1024 stays in fields 0 and 2, and 64 in 1 and 3": _in_place(
        lambda read: read, lambda read: read / 16
    ),
    "fields 1 and 3, four bits up, are not divided by 16": _of_odd(_less_1024),
    "fields 1 and 3 are multiplied by 16, not divided": _of_odd(lambda read: read * 16 - 16384),
    "1024 stays on fields 0 and 2": _in_place(lambda read: read, lambda read: read / 16 - 64),
    "64 stays on fields 1 and 3, which is what a division by 16 leaves of 1024": _of_odd(
        lambda read: read / 16
    ),
    "fields 1 and 3 have the exponent of 64 and are divided by 16: one of the two is enough": (
        _of_odd(lambda read: read / 256 - 64)
    ),
    "fields 0 and 2 come out as a sixteenth of their codes: what suits a field at bit 4 does not "
    "suit one at bit 0": _in_place(lambda read: read / 16 - 64, lambda read: read / 16 - 64),
    "1024 is taken off fields 1 and 3, which read 64 + code by then": _of_odd(
        lambda read: read / 16 - 1024
    ),
    "64 is taken off fields 1 and 3 before the division by 16": _of_odd(
        lambda read: (read - 64) / 16
    ),
    "64 is taken off every field; in fields 0 and 2 it is 1024": _in_place(
        lambda read: read - 64, lambda read: read / 16 - 64
    ),
    "1 / 16 is 0 in C, a division of integers; less 64 that is -64: write 1.0f / 16": _of_odd(
        lambda read: read * 0 - 64
    ),
    "fields 1 and 3 are multiplied by 0, as 1 / 16 is, a division of integers": _of_odd(
        lambda read: read * 0
    ),
    "all fields stay where they are, and from bit 10 on a half has its exponent": _where_they_are,
    # what offset_of says: the kernel takes it off
    "64 stays on the codes, and offset_of says 0: nothing takes it off": _of_codes(
        lambda c: c + 64
    ),
    "offset_of says 64, and no 64 is on the codes: it is taken off them all the same": _of_codes(
        lambda c: c - 64
    ),
    "offset_of says -64, so that 64 is put on once more: it says what the kernel is to take off": (
        _of_codes(lambda c: c + 128)
    ),
    # which exponent
    "there is no exponent: a code alone, as a half, is 2^-24 times itself": _with_magic(0, 0),
    "no exponent comes to its place, and 1024 is taken off next to nothing": (
        _with_magic(0x00640064, 1024.0)
    ),
    "only the lower half is given the exponent": _with_magic(0x00006400, 1024.0),
    "the exponent is 0x60, that of 512, where the lowest bit counts 1/2": (
        _with_magic(0x60006000, 512.0)
    ),
    "the exponent is 0x60, that of 512, and 1024 is taken off": _with_magic(0x60006000, 1024.0),
    "the exponent is 0x68, that of 2048, where the lowest bit counts 2": (
        _with_magic(0x68006800, 2048.0)
    ),
    "the exponent is 0x68, that of 2048, and 1024 is taken off": _with_magic(0x68006800, 1024.0),
    "the exponent is 0x43, that of 128 in bfloat16": _with_magic(0x43004300, 128.0),
    "the exponent is 0x65, which sets a bit of the fraction too": _with_magic(0x65006500, 1024.0),
    # which bits
    "the code of the upper half is not masked, so that those above it come along": (
        lambda pairs, f: _rounded(torch.stack([pairs >> 4 * f & 15, pairs >> 4 * f + 16], -1))
    ),
    "the shifted pairs are not masked, so that other codes come into fraction and exponent": (
        _with_mask(0xFFFFFFFF)
    ),
    "the mask is 0x00FF00FF, two codes": _with_mask(0x00FF00FF),
    "the mask is 0x0F0F0F0F, two codes of each half": _with_mask(0x0F0F0F0F),
    "the mask comes before the shift": _read(lambda pairs, f: (pairs & MASK) >> 4 * f | _MAGIC),
    "mask and exponent are swapped in and_or": _read(
        lambda pairs, f: _down(pairs, f) & _MAGIC | MASK
    ),
    "&& takes the place of &: it gives 1 or 0": _read(
        lambda pairs, f: (_down(pairs, f) != 0).long() | _MAGIC
    ),
    # which number
    "the codes are taken for signed ones, -8 to 7": _of_codes(lambda c: c - 16 * (c > 7)),
}


def _number_of(codes_of):
    return lambda pairs, f: codes_of(pairs, f).double()


MISTAKES = mistakes_of(
    {name: _number_of(codes_of) for name, codes_of in WRONG_CODES.items()} | _DECODERS
)
