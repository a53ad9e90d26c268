"""What wrong answers to dequant_dot give: {mistake in words: case -> output}."""

import torch

from gemlite_lab.checker.gemv_tiles import Tiles


def mistakes_of(format):
    """{mistake: case -> output}."""

    def with_values(values_of):
        return lambda t: t.output(values_of(t))

    def with_codes(codes_of):
        def output(t):
            codes = codes_of(t)
            return None if codes is None else t.output(format.decode(codes, t.zeros))

        return output

    def with_x(distance_of):
        return lambda t: t.output(format.decode(t.codes, t.zeros), t.x_at(distance_of(t)))

    def with_fields(keep_of):
        def output(t):
            keep = keep_of(t.x.shape[2])
            return t.output(format.decode(t.codes, t.zeros)[:, :, keep], t.x[:, :, keep])

        return output

    def with_rounding(**rounded):
        return lambda t: t.output(format.decode(t.codes, t.zeros), **rounded)

    mistakes = {
        **{name: with_codes(codes_of) for name, codes_of in _wrong_codes(format).items()},
        "every code of a word meets x[0]: code j meets x[j * WARP_SIZE]": with_x(lambda t: 0),
        "code j meets x[j], but the codes of a word lie WARP_SIZE apart": with_x(lambda t: 1),
        "code j meets x[j * PACK_FACTOR], but the codes of a word lie WARP_SIZE apart": with_x(
            lambda t: t.x.shape[2]
        ),
        "only the first code of each word is used": with_fields(lambda P: slice(0, 1)),
        "only the last code of each word is used": with_fields(lambda P: slice(P - 1, P)),
        "the last code of each word is skipped": with_fields(lambda P: slice(0, P - 1)),
        "the first code of each word is skipped": with_fields(lambda P: slice(1, P)),
        "only the first half of the codes of each word is used": with_fields(
            lambda P: slice(0, P // 2)
        ),
        "the sum is held in half precision": with_rounding(rounded=_to_half),
        "each product is rounded to half precision": with_rounding(product_rounded=_to_half),
        "the products and their sum are held in half precision": with_rounding(
            rounded=_to_half, product_rounded=_to_half
        ),
        "the sum is held in an integer, which cuts off the fraction": with_rounding(
            rounded=torch.trunc
        ),
        **{name: with_values(values_of) for name, values_of in format.wrong_values.items()},
    }
    if format.widths != (4,):
        mistakes["the word is read as eight 4-bit codes, whatever W_NBITS is"] = lambda t: (
            _four_bit_fields(format, t)
        )
    if format.has_zeros:
        mistakes |= _ZEROS_OUTSIDE_THE_PRODUCT
    else:
        mistakes["zero is subtracted, but this format has no zero-point"] = with_values(
            lambda t: format.decode(t.codes, t.zeros) - t.zeros
        )
        mistakes["the codes are decoded as linear ones, code - zero"] = with_values(
            lambda t: t.codes - t.zeros
        )
    return {name: lambda case, make=make: make(Tiles.of(case)) for name, make in mistakes.items()}


def _wrong_codes(format):
    """{mistake: tiles -> the codes that it decodes}, for widths and values that can show it."""
    found = {
        "the codes of a word are taken from the least significant bits up": (
            lambda t: t.codes.flip(2)
        ),
        "the two codes of each pair of fields are swapped": _pairs_swapped,
        "the bytes of a word are taken in reverse order, the least significant one first": (
            _bytes_reversed
        ),
        "the shift is 32 - W_NBITS * j, one code too far: code j needs j + 1": (
            # Host processors shift by 32 as by 0, and the simulator runs before any GPU.
            lambda t: t.read(shift=lambda j: -t.case.nbits * j % 32)
        ),
        "the mask is 1 << W_NBITS - 1, the top bit alone, because - comes before <<": (
            lambda t: t.read(2 ** (t.case.nbits - 1))
        ),
    }
    if 4 in format.widths:
        found["the codes are taken in AWQ's order 0 2 4 6 1 3 5 7"] = _awq_order
    if format.widths != (4,):
        found["the mask is 15, whatever W_NBITS is"] = lambda t: t.read(0xF)
        found["the shift and the mask are those of 4 bits, whatever W_NBITS is"] = lambda t: t.read(
            0xF, shift=lambda j: (28 - 4 * j) % 32
        )
    if not format.is_table:
        found["the shifted word is not masked, so that the codes above it stay in"] = lambda t: (
            t.read(0xFFFFFFFF)
        )
    if any(32 % nbits for nbits in format.widths):
        found["the idle bits are taken to be at the top of the word"] = lambda t: t.read(
            shift=lambda j: t.case.nbits * (t.x.shape[2] - 1 - j)
        )
    if any(nbits**2 != 2**nbits for nbits in format.widths):
        found["the mask is W_NBITS * W_NBITS - 1; it is 2 to the power W_NBITS, minus 1"] = (
            lambda t: t.read(t.case.nbits**2 - 1)
        )
    return found


def _pairs_swapped(tiles):
    fields = tiles.codes.shape[2]
    return None if fields % 2 else tiles.codes[:, :, [j ^ 1 for j in range(fields)]]


def _bytes_reversed(tiles):
    if tiles.case.nbits not in (1, 2, 4):
        return None
    N, T, P, _ = tiles.codes.shape
    return tiles.codes.reshape(N, T, 4, P // 4, 32).flip(2).flatten(2, 3)


def _awq_order(tiles):
    if tiles.codes.shape[2] != 8:
        return None
    return tiles.codes[:, :, [0, 2, 4, 6, 1, 3, 5, 7]]


def _four_bit_fields(format, tiles):
    if tiles.case.nbits == 4:
        return None
    fields = min(8, tiles.x.shape[2])
    codes = tiles.read(0xF, nbits=4)[:, :, :fields]
    return tiles.output(format.decode(codes, tiles.zeros), tiles.x[:, :, :fields])


def _minus_zeros(tiles, times):
    """The codes alone meet x; the zero-point is subtracted from the sum, `times` times a word."""
    M, T, _, lanes = tiles.x.shape
    zeros = tiles.zeros.expand(-1, T, times, lanes)
    ones = torch.ones(M, T, times, lanes)
    return tiles.output(torch.cat([tiles.codes, -zeros], 2), torch.cat([tiles.x, ones], 2))


_ZEROS_OUTSIDE_THE_PRODUCT = {
    "the zero-point is subtracted once per word instead of once per code": (
        lambda t: _minus_zeros(t, 1)
    ),
    "the zero-point is subtracted from the product with x instead of from the code": (
        lambda t: _minus_zeros(t, t.x.shape[2])
    ),
}


def _to_half(values):
    return values.half().float()
