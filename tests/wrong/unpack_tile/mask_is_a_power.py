# diagnosis: the mask is 2**NBITS, one bit above the code; it is 2**NBITS - 1
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> (NBITS * field)) & (1 << NBITS)
