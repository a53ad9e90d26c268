# diagnosis: the mask is applied before the shift, where it keeps field 0 alone
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words & ((1 << NBITS) - 1)) >> (NBITS * field)
