# diagnosis: (does every path end with a return?)
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    words = words >> (NBITS * field)
    words &= (1 << NBITS) - 1
