# diagnosis: the mask is NBITS; it is NBITS ones
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> (NBITS * field)) & NBITS
