"""What wrong answers to dequant_dot_sparse give: {mistake in words: case -> output}."""

import torch

from gemlite_lab.checker.sparse_tiles import decoded, placed, shifted, sparse_tiles


def _with_values(values_of):
    """The mistake of taking values_of(tiles, codes, first kept) as the kept values."""

    def output(tiles):
        codes, first = decoded(shifted(tiles))
        return tiles.output(placed(values_of(tiles, codes, first), first))

    return output


def _with_first(first_of):
    """The mistake of taking first_of(tiles, right one) as whether the first is kept."""

    def output(tiles):
        codes, first = decoded(shifted(tiles))
        return tiles.output(placed(codes - tiles.zeros, first_of(tiles, first)))

    return output


def _with_pairs(pairs_of):
    """The mistake of reading the bytes pairs_of(tiles)."""

    def output(tiles):
        codes, first = decoded(pairs_of(tiles))
        return tiles.output(placed(codes - tiles.zeros, first))

    return output


def _with_x(x_of):
    """The mistake that field j meets x_of(x)[:, :, j] instead of its own x."""
    return lambda tiles: tiles.output(_right_values(tiles), x_of(tiles))


def _with_fields(first_field, second_field):
    """The mistake that the pair p meets the x of field first_field(p) or second_field(p)."""

    def output(tiles):
        codes, first = decoded(shifted(tiles))
        values, moved = codes - tiles.zeros, torch.zeros_like(tiles.codes)
        for p in range(values.shape[2]):
            moved[:, :, first_field(p)] += (values * first)[:, :, p]
            moved[:, :, second_field(p)] += (values * ~first)[:, :, p]
        return tiles.output(moved)

    return output


def _with_some_pairs(pairs):
    """The mistake of using these pairs only."""
    fields = slice(2 * pairs.start, 2 * pairs.stop)
    return lambda tiles: tiles.output(_right_values(tiles)[:, :, fields], tiles.x[:, :, fields])


def _with_rounding(**rounded):
    return lambda tiles: tiles.output(_right_values(tiles), **rounded)


def _right_values(tiles):
    codes, first = decoded(shifted(tiles))
    return placed(codes - tiles.zeros, first)


def _both_meet(value_of_pruned):
    """The mistake of giving the pruned one value_of_pruned(tiles, value of the kept one)."""

    def output(tiles):
        codes, first = decoded(shifted(tiles))
        values = codes - tiles.zeros
        pruned = value_of_pruned(tiles, values)
        return tiles.output(placed(values, first) + placed(pruned, ~first))

    return output


def _minus_zeros(times):
    """The codes alone meet x; the zero-point is subtracted from the sum, `times` times a word."""

    def output(tiles):
        codes, first = decoded(shifted(tiles))
        M, T, _, lanes = tiles.x.shape
        zeros = tiles.zeros.expand(-1, T, times, lanes)
        ones = torch.ones(M, T, times, lanes)
        values = torch.cat([placed(codes, first), -zeros], 2)
        return tiles.output(values, torch.cat([tiles.x, ones], 2))

    return output


def _position_in_bit_0(tiles):
    pairs = shifted(tiles)
    codes, first = (pairs >> 1 & 127).double(), (pairs & 1) != 0
    return tiles.output(placed(codes - tiles.zeros, first))


def _dense_bytes(tiles):
    codes = (shifted(tiles) & 255).double()
    return tiles.output(codes - tiles.zeros, tiles.x[:, :, :4])


def _dense_nibbles(tiles):
    codes = (shifted(tiles, range(28, -1, -4)) & 15).double()
    return tiles.output(codes - tiles.zeros)


def _x_one_further(tiles):
    """x as met when the second of a pair is x[2 * p * WARP_SIZE + 1]."""
    M, T, fields, lanes = tiles.x.shape
    start = torch.arange(0, fields, 2).view(-1, 1, 1) * lanes
    k = start + torch.arange(2).view(-1, 1) + torch.arange(lanes)
    return tiles.x.reshape(M, T, -1)[:, :, k.flatten(0, 1)]


def _to_half(values):
    return values.half().float()


def _as_unsigned(values):
    """Negative values as 32 bits without a sign hold them."""
    return values + 2.0**32 * (values < 0)


_ZERO_POINTS = {
    "the zero-point is forgotten": lambda t, codes, _: codes,
    "the zero-point is added instead of subtracted": lambda t, codes, _: codes + t.zeros,
    "the code is subtracted from the zero-point": lambda t, codes, _: t.zeros - codes,
    "the zero-point is taken to be the middle code": lambda t, codes, _: codes - 64,
    "the zero-point is put in an integer, which cuts off its fraction": (
        lambda t, codes, _: codes - t.zeros.trunc()
    ),
    "code minus zero-point is unsigned, so that it wraps around below 0": (
        lambda t, codes, _: _as_unsigned(codes - t.zeros.trunc())
    ),
    "a code of 0 is taken as pruned; it is as good a code as any": (
        lambda t, codes, _: (codes - t.zeros) * (codes != 0)
    ),
}

_CODES = {
    "the position bit is not masked off, so that it stays in the code": (
        lambda t, codes, first: codes + 128 * first - t.zeros
    ),
    "the byte is taken as a signed number, with the position as its sign": (
        lambda t, codes, first: codes - 128 * first - t.zeros
    ),
    "the code is sign-extended; it is unsigned": (
        lambda t, codes, _: codes - 128 * (codes >= 64) - t.zeros
    ),
    "the shifted word is not masked, so that the bytes above stay in the code": (
        lambda t, codes, _: shifted(t).double() - t.zeros
    ),
}

_POSITIONS = {
    "the position is turned round: bit 7 says that the first is kept": lambda t, first: ~first,
    "the first of each pair is taken as kept, whatever bit 7 says": (
        lambda t, first: torch.ones_like(first)
    ),
    "the second of each pair is taken as kept, whatever bit 7 says": (
        lambda t, first: torch.zeros_like(first)
    ),
    "the position is read from bit 0; in C, == and >> come before &": (
        lambda t, first: (shifted(t) & 1) != 0
    ),
    "the bytes above stay in the position: after pair >> 7, mask with 1": (
        lambda t, first: shifted(t) >> 7 != 0
    ),
    "the position counts only if all bytes above are 0: compare one bit, not pair >> 7, with 1": (
        lambda t, first: shifted(t) >> 7 == 1
    ),
}

_BYTES = {
    "the first pair is taken from the least significant byte": (
        lambda t: shifted(t, (0, 8, 16, 24))
    ),
    "the shift is 32 - 8 * p, one byte too far: pair p needs p + 1": (
        # Host processors shift by 32 as by 0, and the simulator runs before any GPU.
        lambda t: shifted(t, (0, 24, 16, 8))
    ),
    "every pair is read from the first byte": lambda t: shifted(t, (24, 24, 24, 24)),
}

_MISTAKES = {
    **{name: _with_values(values) for name, values in (_ZERO_POINTS | _CODES).items()},
    **{name: _with_first(first) for name, first in _POSITIONS.items()},
    **{name: _with_pairs(pairs) for name, pairs in _BYTES.items()},
    "both of a pair get the kept weight": _both_meet(lambda t, values: values),
    "the pruned weight is dequantized too, as (0 - zero); it is 0": _both_meet(
        lambda t, values: -t.zeros.expand_as(values)
    ),
    "the zero-point is subtracted once per word instead of once per pair": _minus_zeros(1),
    "the zero-point is subtracted from the product with x instead of from the code": (
        _minus_zeros(4)
    ),
    "the position is bit 0 and the code the bits above it": _position_in_bit_0,
    "the word is read as four 8-bit codes, without pairs": _dense_bytes,
    "the word is read as eight 4-bit codes": _dense_nibbles,
    "pair p meets x[p * WARP_SIZE] or the next; a pair takes two of them: 2 * p": _with_fields(
        lambda p: p, lambda p: p + 1
    ),
    "the second of pair p is taken from half a tile on, p + 4; it is 2 * p + 1": _with_fields(
        lambda p: p, lambda p: p + 4
    ),
    "every pair meets the x of the first one": _with_fields(lambda p: 0, lambda p: 1),
    "the second of a pair meets x[2 * p * WARP_SIZE + 1], but it lies WARP_SIZE on": _with_x(
        _x_one_further
    ),
    "pair p meets x[2 * p] or x[2 * p + 1], but they lie WARP_SIZE apart": _with_x(
        lambda t: t.x_at(1)
    ),
    "only the first pair of each word is used": _with_some_pairs(slice(0, 1)),
    "only the last pair of each word is used": _with_some_pairs(slice(3, 4)),
    "the first pair of each word is skipped": _with_some_pairs(slice(1, 4)),
    "the last pair of each word is skipped": _with_some_pairs(slice(0, 3)),
    "only the first two pairs of each word are used": _with_some_pairs(slice(0, 2)),
    "the sum is held in half precision": _with_rounding(rounded=_to_half),
    "each product is rounded to half precision": _with_rounding(product_rounded=_to_half),
    "the products and their sum are held in half precision": _with_rounding(
        rounded=_to_half, product_rounded=_to_half
    ),
    "the sum is held in an integer, which cuts off the fraction": _with_rounding(
        rounded=torch.trunc
    ),
}

MISTAKES = {
    name: lambda case, make=make: make(sparse_tiles(case)) for name, make in _MISTAKES.items()
}
