# diagnosis: the codes are sign-extended: >> of an int32 keeps the sign
import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    up = words.to(tl.int32) << (32 - NBITS * (field + 1))
    return up >> (32 - NBITS)
