import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return words // (1 << (NBITS * field)) & ((1 << NBITS) - 1)
