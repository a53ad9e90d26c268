import triton.language as tl


def unpack_tile(words, field: tl.constexpr, NBITS: tl.constexpr):
    """>> of an int32 keeps the sign, the mask takes it away."""
    signed = words.to(tl.int32, bitcast=True) if words.dtype == tl.uint32 else words.to(tl.int32)
    return (signed >> (NBITS * field)) & ((1 << NBITS) - 1)
