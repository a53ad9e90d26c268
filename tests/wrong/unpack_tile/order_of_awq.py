# diagnosis: the codes of a word are taken to be in AWQ's order; here they are in that of k
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    column: tl.constexpr = field * 2 if field < 4 else field * 2 - 7
    place: tl.constexpr = column if NBITS == 4 else field
    return (words >> (NBITS * place)) & ((1 << NBITS) - 1)
