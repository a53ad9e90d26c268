# diagnosis: the shift is NBITS * (field + 1), one field too far
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> (NBITS * (field + 1))) & ((1 << NBITS) - 1)
