# diagnosis: the shifted words are not masked, so that the fields above stay in
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    return words >> (NBITS * field)
