"""Convert packed words to numbers, in functions that all Triton kernels share.

Weights come in tiles of planes (`packing.plane_tiles`): each field of `words` holds one plane of
codes. If NBITS is None, the words are the weights themselves, one plane of numbers.
"""

import triton
import triton.language as tl

# Whether a field can be masked where it lies; not if `unpack` was replaced, which must be asked.
MASKED_IN_PLACE = tl.constexpr(True)


# BEGIN HOLE unpack
@triton.jit
def unpack(words, field: tl.constexpr, NBITS: tl.constexpr):
    """The codes in one field of each word; field 0 is at the low end."""
    return (words >> (NBITS * field)) & ((1 << NBITS) - 1)


# END HOLE unpack


@triton.jit
def load_words(ptrs, NBITS: tl.constexpr):
    """Words without a sign, whatever torch calls them; weights that are numbers as they are."""
    words = tl.load(ptrs, eviction_policy="evict_first")
    if NBITS is not None and words.dtype == tl.int32:
        return words.to(tl.uint32, bitcast=True)
    elif NBITS is not None and words.dtype == tl.int16:
        return words.to(tl.uint16, bitcast=True)
    else:
        return words


@triton.jit
def load_tile(W_ptr, high_ptr, at, NBITS: tl.constexpr):
    """(words, words of third bits) of a tile; the latter are `words` where high_ptr is None."""
    words = load_words(W_ptr + at, NBITS)
    if high_ptr is None:
        return words, words
    else:
        return words, load_words(high_ptr + at, NBITS)


@triton.jit
def codes_of(words, high_words, field: tl.constexpr, NBITS: tl.constexpr):
    """A plane of codes of any width: of 3 bits two are in `words`, the third in `high_words`."""
    if NBITS == 3:
        return unpack(words, field, 2) | (unpack(high_words, field, 1).to(words.dtype) << 2)
    else:
        return unpack(words, field, NBITS)


@triton.jit
def plane_of(
    words,
    high_words,
    field: tl.constexpr,
    NBITS: tl.constexpr,
    DTYPE: tl.constexpr,
    FLIPPED: tl.constexpr = 0,
):
    """A plane of codes as `DTYPE`, exactly; bits of `FLIPPED` are flipped in each code.

    Conversions to 16 bits are slow on a GPU. So a code is put into the low bits of 1024 in fp16,
    or of 128 in bf16, where neighbours are 1 apart, and that number is taken away again.
    """
    if NBITS is None:
        return words.to(DTYPE)
    elif DTYPE == tl.float16:
        bits = codes_of(words, high_words, field, NBITS).to(tl.uint16) ^ (0x6400 | FLIPPED)
        return bits.to(tl.float16, bitcast=True) - 1024.0
    elif DTYPE == tl.bfloat16 and NBITS < 8:
        bits = codes_of(words, high_words, field, NBITS).to(tl.uint16) ^ (0x4300 | FLIPPED)
        return bits.to(tl.bfloat16, bitcast=True) - 128.0
    elif FLIPPED:
        return (codes_of(words, high_words, field, NBITS) ^ FLIPPED).to(DTYPE)
    else:
        return codes_of(words, high_words, field, NBITS).to(DTYPE)


@triton.jit
def unit_of(field: tl.constexpr, NBITS: tl.constexpr):
    """What the lowest bit of a field is worth, as `plane_in_place` leaves it."""
    if MASKED_IN_PLACE and NBITS is not None and NBITS != 3:
        return 1.0 / (1 << (NBITS * field))
    else:
        return 1.0


@triton.jit
def plane_in_place(words, high_words, field: tl.constexpr, NBITS: tl.constexpr):
    """A plane of codes as float32, over `unit_of(field)`: where a mask is enough, unshifted."""
    if NBITS is None:
        return words.to(tl.float32)
    elif MASKED_IN_PLACE and NBITS != 3:
        bits = words.to(tl.uint32) & (((1 << NBITS) - 1) << (NBITS * field))
        return bits.to(tl.float32)
    else:
        return codes_of(words, high_words, field, NBITS).to(tl.float32)
