"""Mistakes in pack and unpack: the fields of a word, and the place of each code."""

from functools import reduce

import torch

from gemlite_edu.packing import pack_warped_int32
from gemlite_edu.packing.warp_interleaved import WARP_SIZE
from gemlite_lab.checker.mistakes import fields, products, word_dots
from gemlite_lab.checker.mistakes.fields import ALL_BITS
from gemlite_lab.checker.mistakes.model import Mistake, Model

_NEIGHBOURS = "a word holds neighbouring k instead of k that lie 32 apart"
_ONLY_A_POWER = (
    "a word is taken to hold a power of two of codes; it holds 32 // nbits, which need not be one"
)
IN_FRONT = "the padding is in front of each row instead of behind it"
UNCUT = "the row is not cut into tiles first, so that a word holds k from all over it"


def tiled(values, count):
    """(N, K), padded with 0 at the end of its rows, as (N, tiles, fields, lanes)."""
    padded = torch.nn.functional.pad(values.long(), (0, -values.shape[1] % (count * WARP_SIZE)))
    return padded.view(len(values), -1, count, WARP_SIZE)


def _parts_of_unpack(case):
    shift = word_dots.shift_of(case.nbits)
    words = pack_warped_int32(case.W_q, case.nbits).long().view(len(case.W_q), -1, 1, WARP_SIZE)
    counted = torch.ones(words.shape[1], len(shift), WARP_SIZE).double()
    return {
        **fields.right_parts(shift, case.nbits),
        "words": words,
        "counted": counted,
        "arranged": lambda codes: codes,
        "cut": lambda row: row[:, : case.W_q.shape[1]],
        "change": lambda codes: codes,
    }


def _codes(parts):
    codes = fields.codes(parts["words"], parts) * parts["counted"].long()
    row = parts["arranged"](codes).flatten(1)
    return (parts["change"](parts["cut"](row)) & 255).double()


def _mistakes_of_unpack(case):
    shift, K = word_dots.shift_of(case.nbits), case.W_q.shape[1]
    arranged = {
        "the codes of one word are taken as neighbouring k, but they lie 32 apart":
            lambda codes: codes.transpose(2, 3),
        "the codes of one word are taken as neighbouring k, from the least significant bits":
            lambda codes: codes.transpose(2, 3).flip(3),
        "the row is not cut into tiles first: the codes of a word are spread all over it":
            lambda codes: codes.transpose(1, 2),
        "the tiles of a row are taken in reverse order": lambda codes: codes.flip(1),
        "the lanes of a tile are taken in reverse order": lambda codes: codes.flip(3),
        "every tile of a row is read from the first one":
            lambda codes: codes[:, :1].expand_as(codes),
    }  # fmt: skip
    power = _power_of_two(len(shift))
    if K <= power * WARP_SIZE * -(-K // (len(shift) * WARP_SIZE)):
        arranged[_ONLY_A_POWER] = lambda codes: codes[:, :, :power]
    of_fields = fields.field_mistakes(shift, case.nbits)
    return [
        *(m for m in of_fields if m.parts.get("mask") != 255),  # uint8 has no more bits
        *(Mistake(words, {"arranged": order}) for words, order in arranged.items()),
        *_value_mistakes(case.nbits),
        *products.count_mistakes(_parts_of_unpack(case)["counted"]),
        Mistake(
            "the padding is cut off in front instead of behind", {"cut": lambda row: row[:, -K:]}
        ),
    ]


def _power_of_two(count):
    """The largest power of two up to `count`."""
    return 1 << count.bit_length() - 1


def _value_mistakes(nbits):
    changes = {
        "the middle code is subtracted; zero-points come later, they are not yours":
            lambda codes: codes - 2 ** (nbits - 1),
        "the codes are one too large": lambda codes: codes + 1,
        "the codes are one too small": lambda codes: codes - 1,
        "every bit of the codes is the other one": lambda codes: 2**nbits - 1 - codes,
    }  # fmt: skip
    return [Mistake(words, {"change": change}) for words, change in changes.items()]


def as_signed_bytes(byte):
    """Mistakes with the bytes of a word, which `byte` gives, where int8 makes some negative."""

    def signed(values):
        values = byte(values)
        return values - 256 * (values >= 128)

    return [
        Mistake(
            "bytes from 128 on are negative as int8, and a sum with them borrows from the byte "
            "above",
            {"byte": signed, "combined": lambda fields: fields.sum(2)},
        ),
        Mistake(
            "bytes from 128 on are negative as int8, and | with them fills the bytes above with "
            "ones",
            {"byte": signed},
        ),
    ]


def _parts_of_pack(case):
    shift = word_dots.shift_of(case.nbits)
    return {
        "codes": case.W_q.long(),
        "arranged": lambda codes: tiled(codes, len(shift)),
        "shift": shift,
        "order": list(range(len(shift))),
        "byte": lambda codes: codes,
        "counted": torch.ones(1, len(shift), 1).double(),
        "combined": by_or,
        "finished": lambda words: words,
    }


def words_of(parts):
    """Words, as int32 numbers, of the codes in `arranged` order."""
    codes = parts["byte"](parts["arranged"](parts["codes"]))
    codes = codes[:, :, parts["order"]] * parts["counted"].long()
    words = parts["combined"](codes << parts["shift"].view(-1, 1)) & ALL_BITS
    return parts["finished"](words - (words >> 31 << 32)).flatten(1).double()


def _mistakes_of_pack(case):
    nbits, count = case.nbits, 32 // case.nbits
    tile = count * WARP_SIZE
    masks = {m.words: m.parts["mask"] for m in fields.mask_mistakes(nbits, "nbits")}
    return [
        *(as_signed_bytes(lambda codes: codes) if nbits == 8 else []),
        *arrangement_mistakes(count, tile),
        *_words_with_fewer_codes(case.W_q.shape[1], count),
        *(
            Mistake(words, {"shift": m.parts["shift"]})
            for m in fields.shift_mistakes(word_dots.shift_of(nbits), nbits, "nbits", True)
            if "shift" in m.parts
            for words in [m.words.replace("codes of a word are taken", "codes of a word are put")]
        ),
        *fields.order_mistakes(count, is_told_by_shift=32 % nbits == 0),
        *(
            Mistake(words, {"byte": lambda codes, mask=mask: codes & mask})
            for words, mask in masks.items()
            if mask < 2**nbits - 1
        ),
        *(
            Mistake(
                m.words, {"byte": lambda codes, mask=m.parts["mask"]: codes & mask}, is_alone=True
            )
            for m in fields.power_as_xor_mistakes(nbits, "nbits")
        ),
        Mistake(
            "the middle code is subtracted before the codes are packed",
            {"byte": lambda codes: codes - 2 ** (nbits - 1)},
        ),
        *products.count_mistakes(torch.ones(1, count, 1).double()),
        *combining_mistakes(),
    ]


def _words_with_fewer_codes(K, count):
    """The mistake of words with a power of two of codes, if a row has its number of words."""
    power = _power_of_two(count)
    if power == count or -(-K // (power * WARP_SIZE)) != -(-K // (count * WARP_SIZE)):
        return []

    def arranged(codes):
        return torch.nn.functional.pad(tiled(codes, power), (0, 0, 0, count - power))

    return [Mistake(_ONLY_A_POWER, {"arranged": arranged})]


def by_or(placed):
    """(N, tiles, fields, lanes), the fields joined by |."""
    return reduce(torch.bitwise_or, placed.unbind(2))


def arrangement_mistakes(count, tile):
    """Mistakes in which codes of a row get into a word, and where the padding is."""

    def cut(codes):
        """Zeros from the last whole tile on."""
        return codes * (torch.arange(codes.shape[1]) < codes.shape[1] // tile * tile)

    def padded(codes):
        return torch.nn.functional.pad(codes, (0, -codes.shape[1] % tile))

    arranged = {
        _NEIGHBOURS: lambda c: padded(c).view(len(c), -1, WARP_SIZE, count).transpose(2, 3),
        f"{_NEIGHBOURS}, the first one in the least significant bits":
            lambda c: padded(c).view(len(c), -1, WARP_SIZE, count).transpose(2, 3).flip(2),
        UNCUT: lambda c: padded(c).view(len(c), count, -1, WARP_SIZE).transpose(1, 2),
        IN_FRONT:
            lambda c: tiled(torch.nn.functional.pad(c, (-c.shape[1] % tile, 0)), count),
        "the ragged tail of K after the last whole tile is missing":
            lambda c: tiled(cut(c), count),
        "the tiles of a row are in reverse order": lambda c: tiled(c, count).flip(1),
        "the lanes of a tile are in reverse order": lambda c: tiled(c, count).flip(3),
        "only the first tile of each row is packed":
            lambda c: tiled(c * (torch.arange(c.shape[1]) < tile), count),
        "the padding repeats the last code of the row; it is 0":
            lambda c: tiled(torch.cat([c, c[:, -1:].expand(-1, -c.shape[1] % tile)], 1), count),
    }  # fmt: skip
    return [Mistake(words, {"arranged": order}) for words, order in arranged.items()]


def combining_mistakes():
    combined = {
        "the codes are shifted while still uint8, so that bits above the eighth are lost":
            lambda p: by_or(p & 255),
        "the codes are shifted while int8, so that bits above the eighth are lost, and the eighth "
        "fills all above it": lambda p: by_or(((p & 255) ^ 128) - 128),
        "the codes are shifted while int16, so that bits above the sixteenth are lost, and the "
        "sixteenth fills all above it": lambda p: by_or(((p & 0xFFFF) ^ 0x8000) - 0x8000),
        "every word is shifted one bit too far to the left": lambda p: by_or(p) << 1,
        "every word is shifted one bit too far to the right": lambda p: (by_or(p) & ALL_BITS) >> 1,
        "the words of a row go lane by lane, not tile by tile":
            lambda p: by_or(p).transpose(1, 2).reshape(len(p), -1, WARP_SIZE),
    }  # fmt: skip
    finished = {
        "the words are put in float32, which holds 24 bits":
            lambda w: _as_int32((w & ALL_BITS).float()),
        "the words are put in float32, which holds 24 bits, and those beyond int32 become -2**31":
            lambda w: _beyond_int32_as_its_least((w & ALL_BITS).float()),
        "words with the highest bit set lose their sign, as by abs": lambda w: w.abs(),
        "words with the highest bit set, which are negative, are clamped to 0":
            lambda w: w.clamp(min=0),
        "words with the highest bit set are clamped to 2**31 - 1":
            lambda w: torch.where(w < 0, 2**31 - 1, w),
        "words with the highest bit set become -2**31, as numbers beyond int32 do":
            lambda w: torch.where(w < 0, -(2**31), w),
        "the highest bit of each word is lost": lambda w: w & (ALL_BITS >> 1),
    }  # fmt: skip
    return [
        *(Mistake(words, {"combined": how}) for words, how in combined.items()),
        *(Mistake(words, {"finished": how}) for words, how in finished.items()),
    ]


def _as_int32(numbers):
    words = numbers.long() & ALL_BITS
    return words - (words >> 31 << 32)


def _beyond_int32_as_its_least(numbers):
    return torch.where(numbers >= 2.0**31, -(2.0**31), numbers).long()


UNPACK = Model(_parts_of_unpack, _mistakes_of_unpack, _codes, ("words",), axis=0)
PACK = Model(_parts_of_pack, _mistakes_of_pack, words_of, ("codes",), axis=0)
