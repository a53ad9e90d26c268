# diagnosis: It is none of the mistakes known here; hint("unpack_tile", 1) may help.
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return ((words >> (NBITS * field)) & ((1 << NBITS) - 1)) + 1
