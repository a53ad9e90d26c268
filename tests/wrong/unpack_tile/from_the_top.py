# diagnosis: the fields are counted from the top; field 0 is at the low end
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    first = 32 - NBITS * (field + 1)
    return (words >> first) & ((1 << NBITS) - 1)
