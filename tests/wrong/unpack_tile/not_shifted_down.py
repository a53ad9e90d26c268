# diagnosis: the field is masked where it stands, and not shifted down
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    mask: tl.constexpr = ((1 << NBITS) - 1) << (NBITS * field)
    return words & mask
