"""What wrong answers to dequant_pair give: which codes they take, and how y comes out of that."""

import torch

from gemlite_edu.packing.plane_tiles import PlaneTiles, pack_plane_tiles

MASK = 0x000F000F
_FIELDS, _WORD = 4, 0xFFFFFFFF


def output_of(case, decode):
    """y of the kernel whose dequant_pair, less offset_of(f), is decode(pairs, f).

    pairs: int64 (…). What decode gives: float64 (…, 2).
    """
    K = case.W_q.shape[1]
    layout = PlaneTiles(case.nbits, K, case.group_size)
    pairs = _pairs(pack_plane_tiles(case.W_q, layout))
    values = torch.stack([decode(pairs, f).double() for f in range(_FIELDS)], 3)
    # (tile, n, pair of words, f, upper, half); k counts half first, then pairs, f, upper, tiles
    values = values.permute(1, 0, 4, 3, 2, 5).flatten(1)[:, :K]
    return (case.x.double() @ ((values - case.zero_of_k) * case.scale_of_k).T).half()


def _pairs(words):
    """The lower and the upper halves of neighbouring words: (tiles, N, DEPTH / 2, 2)."""
    first, second = (words[..., i::2].long() & _WORD for i in (0, 1))
    lower = first & 0xFFFF | (second & 0xFFFF) << 16
    return torch.stack([lower, first >> 16 | second & 0xFFFF0000], -1)


def halves(bits):
    """The two halves, as 16 bits each, of 32 bits: (…, 2)."""
    return torch.stack([bits & 0xFFFF, bits >> 16 & 0xFFFF], -1)


def _codes(down):
    """The lowest 4 bits of both halves of down(pairs, f)."""
    return lambda pairs, f: halves(down(pairs, f)) & 15


def right_codes(pairs, f):
    """What dequant_pair is to give the numbers of."""
    return _codes(lambda pairs, f: pairs >> 4 * f)(pairs, f)


def _other_field(field_of):
    return lambda pairs, f: right_codes(pairs, field_of(f))


def _of_right_codes(change):
    return lambda pairs, f: change(right_codes(pairs, f))


WRONG_CODES = {
    # which field
    "every f gives field 0: the pairs are not shifted": _other_field(lambda f: 0),
    "the shift is f; a field has 4 bits, so it is 4 * f": _codes(lambda pairs, f: pairs >> f),
    "the shift is 8 * f, a whole byte": _codes(lambda pairs, f: pairs >> 8 * f),
    "the shift is 12 - 4 * f: field 0 is in the lowest bits": _other_field(lambda f: 3 - f),
    "the shift is 4 * (f + 1), one field too far": _codes(lambda pairs, f: pairs >> 4 * f + 4),
    "the pairs are shifted to the left": _codes(lambda pairs, f: pairs << 4 * f),
    "fields 2 and 3 are taken for 0 and 1: nothing shifts them down": _other_field(lambda f: f % 2),
    "the two fields of each byte are swapped": _other_field(lambda f: f ^ 1),
    "the two bytes of each half are swapped": _other_field(lambda f: f ^ 2),
    "fields 1 and 2 are swapped, as in an order 0 2 1 3": _other_field(lambda f: (0, 2, 1, 3)[f]),
    "field 1 is shifted down by 8, as fields 2 and 3 are": _other_field(lambda f: (0, 3, 2, 3)[f]),
    "field 2 is not shifted down by 8, as field 3 is": _other_field(lambda f: (0, 1, 0, 3)[f]),
    # which half
    "the two halves are swapped": _of_right_codes(lambda codes: codes.flip(-1)),
    "both are the code of the lower half": _of_right_codes(lambda codes: codes[..., [0, 0]]),
    "both are the code of the upper half": _of_right_codes(lambda codes: codes[..., [1, 1]]),
    "the second code is field f + 1 of the lower half; it is field f of the upper one": (
        lambda pairs, f: torch.stack([pairs >> 4 * f & 15, pairs >> 4 * f + 4 & 15], -1)
    ),
    "the fields are counted two by two along the word, 2 f and 2 f + 1": (
        lambda pairs, f: torch.stack([pairs >> 8 * f & 15, pairs >> 8 * f + 4 & 15], -1)
    ),
    "the code of the upper half is always its field 0: only the lower half is shifted down": (
        lambda pairs, f: torch.stack([pairs >> 4 * f & 15, pairs >> 16 & 15], -1)
    ),
    "the code of the upper half is masked away and counts as 0": _of_right_codes(
        lambda codes: codes * torch.tensor([1, 0])
    ),
    # which bits
    "three bits of each code count, as with a mask of 7 or in a selector of __byte_perm": (
        _of_right_codes(lambda codes: codes & 7)
    ),
    "the mask is 1 << W_NBITS - 1, the top bit alone, because - comes before <<": (
        _of_right_codes(lambda codes: codes & 8)
    ),
}


def mistakes_of(decoders):
    """{mistake: case -> y} of {mistake: decode}."""
    return {
        name: lambda case, decode=decode: output_of(case, decode)
        for name, decode in decoders.items()
    }
