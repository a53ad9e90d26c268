# diagnosis: the mask is 15, whatever NBITS is
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> (NBITS * field)) & 0xF
