import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    codes = words * 0
    for bit in tl.static_range(NBITS):
        codes += ((words >> (NBITS * field + bit)) & 1) << bit
    return codes
