import triton
import triton.language as tl


@triton.jit
def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    """The codes in one field of each word."""
    return (words >> (NBITS * field)) & ((1 << NBITS) - 1)
