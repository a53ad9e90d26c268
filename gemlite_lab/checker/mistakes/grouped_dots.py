"""Mistakes in scaled_dot: as in dequant_dot, and in the group of each code."""

from functools import partial

import torch

from gemlite_edu.kernels.plan import codes_per_group
from gemlite_edu.packing import WarpInterleaved
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.mistakes import fields, products, small_types, word_dots
from gemlite_lab.checker.mistakes.model import Mistake, Model
from gemlite_lab.checker.mistakes.numbers_of_codes import number_mistakes
from gemlite_lab.checker.mistakes.raised_scales import raised_scale_mistakes
from gemlite_lab.checker.mistakes.sums_apart import scaled_code_without_x, zero_once_a_group

_BITS = (8, 9, 10, 15, 16)
_SIZES = (32, 64, 128, 256)


def parts_of(case):
    parts = word_dots.parts_of(case)
    group = _groups(case, parts["counted"])
    own = {"value": lambda code, zero, scale: (code - zero) * scale}
    numbers = {"zeros": case.zeros.double(), "scales": case.scales.double()}
    return parts | own | numbers | {"scale_group": group, "zero_group": group}


def _groups(case, counted):
    """(tiles, fields, lanes): the group of each code."""
    return (_k(counted) // case.group_size).clamp(max=case.scales.shape[1] - 1)


def _k(counted):
    """(tiles, fields, lanes): the k of each code."""
    return torch.arange(counted.numel()).view(counted.shape)


def output(parts):
    codes = fields.codes(parts["words"], parts).double()
    zeros = parts["zero"](parts["zeros"][:, parts["zero_group"]])
    weights = parts["value"](codes, zeros, parts["scales"][:, parts["scale_group"]])
    weights = weights * parts["kept"](parts["words"])
    sums = parts["add"](word_dots.met(parts), weights * parts["counted"])
    return word_dots.as_y(sums, parts["dtype"])


def mistakes_of(case):
    shift, nbits = word_dots.shift_of(case.nbits), case.nbits
    tiles = -(-case.x.shape[1] // (len(shift) * WARP_SIZE))
    counted = torch.ones(tiles, len(shift), WARP_SIZE).double()
    return [
        *products.group_mistakes(_wrong_groups(case, counted)),
        *products.scale_mistakes(),
        _weight_of_torch(2 ** (nbits - 1)),
        scaled_code_without_x(),
        *(zero_once_a_group(together) for together in {1, _codes_together(case)}),
        *_forgotten_sums(case, counted),
        *_forgotten_ends(case, counted),
        *_scaled_as_a_sum(),
        *_groups_of_the_first_code(case, counted),
        *raised_scale_mistakes(),
        *products.then_scaled(products.value_mistakes(2 ** (nbits - 1))),
        *products.then_scaled(number_mistakes(2 ** (nbits - 1))),
        *fields.field_mistakes(shift, nbits, "W_NBITS"),
        *products.x_mistakes(),
        products.lost_subnormals(),
        *products.type_mistakes(case.x.dtype),
        *products.count_mistakes(counted),
        *products.signed_zero_mistakes(),
        *products.rounding_mistakes(),
        *products.bfloat16_mistakes(),
        *small_types.scale_types(),
        *small_types.cut_sums(),
        *small_types.late_x_mistakes(),
        Mistake(
            f"a product or a sum is {products.CLAMPED}",
            {"add": products.clamping_words},
            is_alone=True,
        ),
        word_dots.skipped_words(),
        *word_dots.place_mistakes(len(shift)),
    ]


def _weight_of_torch(middle):
    return Mistake(
        "the weight is scale * (code - middle code) + zero-point, as torch has it; here it is "
        "scale * (code - zero-point)",
        {"value": lambda code, zero, scale: scale * (code - middle) + zero},
    )


def _codes_together(case):
    """CODES_PER_GROUP of a case."""
    return codes_per_group(WarpInterleaved(case.nbits), case.group_size)


def _forgotten_sums(case, counted):
    """Mistakes in an answer that adds up the codes of a group, and scales their sum at its end."""
    group = _groups(case, counted)
    counts = {
        "the sum of the last group of each word is never added": group != group[:, -1:],
        "the sum of the first group of each word is never added": group != group[:, :1],
        "only the sum of the last group of each word is added": group == group[:, -1:],
        "only the sum of the first group of each word is added": group == group[:, :1],
    }
    return products.mistakes_of_counts(counted, counts)


def _forgotten_ends(case, counted):
    """Mistakes in which the codes at the end of a row count nothing."""
    codes = case.scales.shape[1] * case.group_size
    counts = {
        "the codes of a row's last group are left out": _k(counted) < codes - case.group_size,
        "the codes of a row end at a whole multiple of 32, and those of the rest are left out":
            _k(counted) < codes // 32 * 32,
    }  # fmt: skip
    return products.mistakes_of_counts(counted, counts)


def _scaled_as_a_sum():
    """Mistakes in which sums, which have their scales already, are scaled again."""

    def each_time(x, weights):
        total = torch.zeros(len(x), len(weights), *x.shape[1:2], *x.shape[3:]).double()
        for j in range(x.shape[2]):
            own = weights[None, :, :, j]
            total = (total + x[:, None, :, j] * own.real) * own.imag
        return total.flatten(2).sum(2)

    def at_the_end(j, x, weights):
        sums = (x[:, None] * weights.real).sum(3)
        return (sums * weights.imag[None, :, :, j]).flatten(2).sum(2)

    def unscaled(code, zero, scale):
        return code - zero + 1j * scale

    def scaled(code, zero, scale):
        return (code - zero) * scale + 1j * scale

    again = "the weights are scaled, and the sum of each word is multiplied by the scale of its"
    parts = {
        "the sum so far is multiplied by the scale of each code again": (unscaled, each_time),
        f"{again} first code besides": (scaled, partial(at_the_end, 0)),
        f"{again} last code besides": (scaled, partial(at_the_end, -1)),
    }
    return [
        Mistake(words, {"value": value, "add": add}, is_alone=True)
        for words, (value, add) in parts.items()
    ]


def _groups_of_the_first_code(case, counted):
    """Scale, zero-point or both of the group in which a word of neighbouring k begins."""
    tiles, count, lanes = counted.shape
    words = torch.arange(tiles).view(-1, 1, 1) * lanes + torch.arange(lanes)
    group = (words * count // case.group_size).clamp(max=case.scales.shape[1] - 1)
    group = group.expand(tiles, count, lanes)
    return [
        Mistake(
            f"every code of a word has one {name}, and k is counted as if a word held "
            "neighbouring codes",
            {f"{part}_group": group for part in parts},
        )
        for name, parts in {
            "scale": ["scale"],
            "zero-point": ["zero"],
            "group": ["scale", "zero"],
        }.items()
    ]


def _wrong_groups(case, counted):
    k, size, last = _k(counted), case.group_size, case.scales.shape[1] - 1
    _, count, lanes = counted.shape
    tile = torch.arange(counted.shape[0]).view(-1, 1, 1) + 0 * k
    together = _codes_together(case)
    j, lane = torch.arange(count).view(-1, 1) + 0 * k, torch.arange(lanes) + 0 * k
    first = tile * count * lanes + lane
    groups = {
        "every code of a word takes the group of its first one": first // size,
        "every code of a word takes the group of its last one": k[:, -1:] // size + 0 * k,
        "code j is taken to be W_q[n, k + j]; it is W_q[n, k + j * WARP_SIZE]": (first + j) // size,
        "code j is taken to be W_q[n, k + j * PACK_FACTOR]; it is W_q[n, k + j * WARP_SIZE]":
            (first + j * count) // size,
        "code j is taken to be that of the next one, k + (j + 1) * WARP_SIZE": (k + lanes) // size,
        "k is left out of the group, so that every tile begins again with group 0":
            j * lanes // size,
        "the lane is left out of the group": (k - lane) // size,
        "the group is the number of the tile": tile,
        "k is counted from the beginning of its tile": (k - tile * count * lanes) // size,
        "the group is k % GROUP_SIZE % groups; it is k / GROUP_SIZE": k % size % (last + 1),
        "codes are taken to follow one another in k, word after word":
            ((tile * lanes + lane) * count + j) // size,
        "the group is the remainder of k by GROUP_SIZE, not the quotient": k % size,
        "the group is the remainder of k by the number of groups": k % (last + 1),
        "the group is k divided by the number of groups, not by GROUP_SIZE": k // (last + 1),
        "the number of the word in its row is divided by GROUP_SIZE, which counts codes":
            (tile * lanes + lane) // size,
        "k is multiplied by PACK_FACTOR, but it counts codes and not words":
            (first * count + j * lanes) // size,
        "k is multiplied by PACK_FACTOR, but it counts codes, and code j lies j * WARP_SIZE on":
            (first * count + j) // size,
        "the group goes on by 1 from that of the word's first code every CODES_PER_GROUP codes, "
        "but k + j * WARP_SIZE says where it ends": first // size + j // together,
        "GROUP_SIZE is rounded down to a power of two": k >> size.bit_length() - 1,
        "a tile is taken to be a whole number of groups, TILE / GROUP_SIZE":
            tile * (count * lanes // size) + (k - tile * count * lanes) // size,
        "k is divided by GROUP_SIZE upwards": -(-k // size),
        "k is rounded to the nearest group": (2 * k + size) // (2 * size),
        "k is multiplied by 1.0f / GROUP_SIZE, which is rounded: some k come to the group before":
            (k.float() * (1 / torch.tensor(float(size)))).long(),
    }  # fmt: skip
    right = (k // size).clamp(max=last)
    groups |= {
        f"the number of the group keeps its lowest {bits} bits alone": right & 2**bits - 1
        for bits in (1, 2, 3, 8)
    }
    groups |= {f"k keeps its lowest {bits} bits alone": (k & 2**bits - 1) // size for bits in _BITS}
    groups |= {f"GROUP_SIZE is taken as {other}": k // other for other in _SIZES if other != size}
    if size > 32:
        groups["GROUP_SIZE is rounded down to a multiple of 32"] = k // (size // 32 * 32)
    groups["the last group is left out: the group before it is taken"] = right.clamp(max=last - 1)
    groups |= products.shifted_groups(right, last)
    existing = {words: group.clamp(max=last) for words, group in groups.items()}
    return {words: group for words, group in existing.items() if not torch.equal(group, right)}


GROUPED_DOT = Model(parts_of, mistakes_of, output, word_dots.BY_ROW)
