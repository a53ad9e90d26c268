# diagnosis: the shift is 4 * field, whatever NBITS is
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> (4 * field)) & ((1 << NBITS) - 1)
