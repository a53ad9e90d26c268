# diagnosis: the mask is NBITS**2 - 1; it is 2**NBITS - 1
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    mask: tl.constexpr = NBITS * NBITS - 1
    return (words >> (NBITS * field)) & mask
