import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    for _ in tl.static_range(field):
        words = words >> NBITS
    mask = tl.full(words.shape, 0, words.dtype)
    for bit in tl.static_range(NBITS):
        mask = mask | (1 << bit)
    return words & mask
