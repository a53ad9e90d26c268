# diagnosis: every field is read as field 0, because nothing is shifted
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return words & ((1 << NBITS) - 1)
