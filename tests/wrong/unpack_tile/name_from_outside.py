# diagnosis: name 'MASK' is not defined (known are what it gets
import triton.language as tl

MASK = 15


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> (NBITS * field)) & MASK
