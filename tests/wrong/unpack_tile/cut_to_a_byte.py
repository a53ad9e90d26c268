# diagnosis: the words are cut to 8 bits first, and the fields above are gone
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words.to(tl.uint8) >> (NBITS * field)) & ((1 << NBITS) - 1)
