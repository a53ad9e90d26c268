# diagnosis: the mask is 1 << (NBITS - 1), the top bit alone, because - comes before <<
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return (words >> NBITS * field) & (1 << NBITS - 1)
