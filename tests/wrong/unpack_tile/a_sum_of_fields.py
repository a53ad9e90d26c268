# diagnosis: It is none of the mistakes known here; hint("unpack_tile", 1) may help.
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return tl.sum(words, axis=1)[:, None] & ((1 << NBITS) - 1)
