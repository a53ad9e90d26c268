# diagnosis: the middle code is subtracted; zero-points come later, they are not yours
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    codes = (words >> (NBITS * field)) & ((1 << NBITS) - 1)
    return codes.to(tl.int32) - (1 << (NBITS - 1))
