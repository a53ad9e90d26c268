"""Mistakes in pack_sparse: which weight of a pair is kept, and the bit that says so."""

import torch

from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.mistakes import fields, products
from gemlite_lab.checker.mistakes.model import Mistake, Model, without_twins
from gemlite_lab.checker.mistakes.packing import (
    IN_FRONT,
    UNCUT,
    arrangement_mistakes,
    as_signed_bytes,
    by_or,
    combining_mistakes,
    tiled,
    words_of,
)


def _parts_of_sparse(case):
    return {
        "codes": torch.stack([case.W_q.long(), case.kept.long()], 2),
        "byte": lambda pairs: _byte(pairs, _kept_code, _first_kept),
        "arranged": lambda both: torch.stack([_pairs(both[..., i]) for i in (0, 1)], -1),
        "shift": 24 - 8 * torch.arange(4),
        "order": [0, 1, 2, 3],
        "counted": torch.ones(1, 4, 1).double(),
        "combined": by_or,
        "finished": lambda words: words,
    }


def _pairs(values):
    """(N, tiles, 4, lanes, 2): the first and the second of each pair."""
    return tiled(values, 8).unflatten(2, (4, 2)).transpose(3, 4)


def _byte(pairs, code, bit):
    codes, kept = pairs[..., 0], pairs[..., 1]
    return code(codes, kept) + bit(codes, kept)


def _kept_code(codes, kept):
    return torch.where(kept[..., 0] > 0, codes[..., 0], codes[..., 1])


def _first_kept(codes, kept):
    return kept[..., 0] << 7


def _mistakes_of_sparse(case):
    codes = {
        "the code of the first is packed, whichever is kept": lambda c, k: c[..., 0],
        "the code of the second is packed, whichever is kept": lambda c, k: c[..., 1],
        "the pruned code of each pair is packed instead of the kept one":
            lambda c, k: torch.where(k[..., 0] > 0, c[..., 1], c[..., 0]),
        "both codes of a pair are combined, but a pruned code need not be 0":
            lambda c, k: c[..., 0] | c[..., 1],
        "both codes of a pair are added, but a pruned code need not be 0":
            lambda c, k: c[..., 0] + c[..., 1],
        "the larger code of each pair is kept; `kept` says which one it is":
            lambda c, k: c.amax(-1),
        "the first of each pair alone is packed: where the second is kept, the code is 0":
            lambda c, k: c[..., 0] * k[..., 0],
        "the second of each pair alone is packed: where the first is kept, the code is 0":
            lambda c, k: c[..., 1] * k[..., 1],
        "a code has 7 bits; the highest of them is cut off": lambda c, k: _kept_code(c, k) & 63,
        "the code is put one bit too high": lambda c, k: _kept_code(c, k) << 1,
        "codes above 63 are clamped; a code has 7 bits":
            lambda c, k: _kept_code(c, k).clamp(max=63),
    }  # fmt: skip
    bits = {
        "bit 7 is clear in every byte: the position is missing": lambda c, k: 0 * k[..., 0],
        "bit 7 is set in every byte": lambda c, k: 128 + 0 * k[..., 0],
        "bit 7 is set where the second of a pair is kept; it is for the first":
            lambda c, k: k[..., 1] << 7,
        "bit 7 is set where the first is not kept, and so in the padding too":
            lambda c, k: (1 - k[..., 0]) << 7,
        "bit 7 is set where the second is not kept, and so in the padding too":
            lambda c, k: (1 - k[..., 1]) << 7,
        "the position is bit 0; it is bit 7": lambda c, k: k[..., 0],
        "the position is bit 6; it is bit 7": lambda c, k: k[..., 0] << 6,
        "the position is read off the codes, so that a kept code of 0 counts as pruned":
            lambda c, k: (c[..., 0] > 0).long() << 7,
        "the position is read off the code of the second, so that a kept code of 0 counts as "
        "pruned": lambda c, k: (c[..., 1] * k[..., 1] == 0).long() << 7,
        "127 is added for the position, which is bit 7, 128": lambda c, k: 127 * k[..., 0],
    }  # fmt: skip
    whole = {
        "the first of each pair is taken as kept where its code is not 0; `kept` says which is":
            lambda c, k: torch.where(c[..., 0] > 0, c[..., 0] | 128, c[..., 1]),
        "both codes of a pair are added, which may set bit 7 too":
            lambda c, k: c.sum(-1) | _first_kept(c, k),
        "the larger code of each pair is kept, and the first of two equal ones; `kept` says which "
        "one it is": lambda c, k: torch.where(c[..., 0] >= c[..., 1], c[..., 0] | 128, c[..., 1]),
        "a code has 7 bits; the highest of them is cut off (for a first alone)":
            lambda c, k: torch.where(k[..., 0] > 0, c[..., 0] & 63 | 128, c[..., 1]),
        "the pruned code of each pair is packed instead of the kept one, and 0 where neither is":
            lambda c, k: torch.where(k[..., 0] > 0, c[..., 1] | 128, c[..., 0] * k[..., 1]),
        "a first that is kept counts as pruned where its code is 0":
            lambda c, k: torch.where(
                k[..., 0] * c[..., 0] > 0, c[..., 0] | 128, c[..., 1]
            ),
    }  # fmt: skip
    bytes_ = [(words, (code, _first_kept)) for words, code in codes.items()]
    bytes_ += [(words, (_kept_code, bit)) for words, bit in bits.items()]
    return without_twins(
        [
            *(
                Mistake(words, {"byte": lambda pairs, how=how: _byte(pairs, *how)})
                for words, how in bytes_
            ),
            *(
                Mistake(words, {"byte": lambda pairs, how=how: how(pairs[..., 0], pairs[..., 1])})
                for words, how in whole.items()
            ),
            _sums_that_carry(),
            *_seven_bits_a_pair(),
            *as_signed_bytes(lambda pairs: _byte(pairs, _kept_code, _first_kept)),
            *_sparse_arrangements(),
            *fields.order_mistakes(4),
            *products.count_mistakes(torch.ones(1, 4, 1).double(), code="pair"),
            *combining_mistakes(),
        ]
    )


def _sums_that_carry():
    words = "both codes of a pair are added, but a pruned code need not be 0; what is above 255 "
    return Mistake(
        f"{words}goes into the next byte",
        {"byte": lambda pairs: pairs[..., 0].sum(-1) + 128 * pairs[..., 0, 1], "combined": added},
    )


def _seven_bits_a_pair():
    joined = {"are joined by |": by_or, "are added": added}
    return [
        Mistake(
            f"the shift moves by 7 bits from pair to pair, and a byte has 8 (the bytes {words})",
            {"shift": 21 - 7 * torch.arange(4), "combined": how},
        )
        for words, how in joined.items()
    ]


def added(placed):
    """(N, tiles, fields, lanes), the fields added up, so that too large ones carry."""
    return placed.sum(2)


def _sparse_arrangements():
    """Those of `pack`, and other ideas of which two weights are a pair."""

    def each(arranged):
        return lambda both: torch.stack([arranged(both[..., i]) for i in (0, 1)], -1)

    def as_pairs(tiles):
        return tiles.unflatten(2, (4, 2)).transpose(3, 4)

    others = [
        (m.words, lambda values, how=m.parts["arranged"]: as_pairs(how(values)))
        for m in arrangement_mistakes(8, 8 * WARP_SIZE)
        if "word holds" not in m.words or m.words == UNCUT
    ]
    pairings = [
        (
            "a pair is made of the neighbours k and k + 1; its weights lie 32 apart",
            lambda v: tiled(v, 8).flatten(2).unflatten(2, (4, WARP_SIZE, 2)),
        ),
        (
            "a pair lies 128 apart, half a tile; its weights lie 32 apart",
            lambda v: tiled(v, 8).unflatten(2, (2, 4)).permute(0, 1, 3, 4, 2),
        ),
        (
            "a word takes 8 neighbouring weights; its pairs lie 64 apart",
            lambda v: tiled(v, 8).flatten(2).unflatten(2, (WARP_SIZE, 4, 2)).transpose(2, 3),
        ),
        (
            "pair p begins at 32 * p; it takes two stretches of 32, so it begins at 64 * p",
            lambda v: torch.stack([tiled(v, 8)[:, :, i : i + 4] for i in (0, 1)], -1),
        ),
    ]
    in_front = [(words, how) for words, how in others if words == IN_FRONT]
    return [
        *(Mistake(words, {"arranged": each(how)}) for words, how in others + pairings),
        *(
            Mistake(f"{words} ({besides})", {"arranged": each(how), **parts})
            for words, how in pairings + in_front
            for besides, parts in _BYTES_OF_ANY_PAIR.items()
        ),
    ]


def _one_kept_or_none(pairs):
    codes, kept = pairs[..., 0], pairs[..., 1]
    second = codes[..., 1] * kept[..., 1]
    return torch.where(kept[..., 0] > 0, codes[..., 0] | 128, second)


def _sum_of_kept(pairs):
    codes, kept = pairs[..., 0], pairs[..., 1]
    return (codes * kept).sum(-1) + _first_kept(codes, kept)


def _sum_that_carries(pairs):
    codes, kept = pairs[..., 0], pairs[..., 1]
    return (codes * kept).sum(-1) + 128 * kept[..., 0]


def _second_if_kept(pairs):
    codes, kept = pairs[..., 0], pairs[..., 1]
    return torch.where(kept[..., 1] > 0, codes[..., 1], kept[..., 0] * (codes[..., 0] | 128))


_BYTES_OF_ANY_PAIR = {
    "a pair of which neither is kept gives 0": {"byte": _one_kept_or_none},
    "a pair of which both are kept gives their sum": {"byte": _sum_of_kept},
    "a pair of which both are kept gives their sum, and what is above 255 goes into the next byte":
        {"byte": _sum_that_carries, "combined": added},
    "a pair of which both are kept gives the second": {"byte": _second_if_kept},
}  # fmt: skip


PACK_SPARSE = Model(_parts_of_sparse, _mistakes_of_sparse, words_of, ("codes",), axis=0)
