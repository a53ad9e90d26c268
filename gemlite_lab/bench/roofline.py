"""How fast a product with low-bit weights can run at best, given its bytes and operations.

Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", 2009.
"""

_BYTES_PER_VALUE = 2  # fp16 or bf16: x, y, and the scale and the zero of a group


def weight_bytes(N, K, nbits, group_size=None):
    """Bytes of (N, K) weights: the packed codes, and a 16-bit scale and zero for each group.

    group_size: neighbours along K that share a scale and a zero; None means one pair per channel.
    nbits 16 means unquantized weights, which have no scales or zeros.

    >>> weight_bytes(4096, 4096, 4, 128)
    8912896.0
    """
    if nbits == 16:
        return float(_BYTES_PER_VALUE * N * K)
    groups = N * (1 if group_size is None else K / group_size)
    return N * K * nbits / 8 + groups * 2 * _BYTES_PER_VALUE


def least_bytes(M, N, K, nbits, group_size=None):
    """Bytes that y = x Wᵀ must move: the weights and x (M, K) read once, y (M, N) written once."""
    return weight_bytes(N, K, nbits, group_size) + _BYTES_PER_VALUE * M * (K + N)


def floor_us(nbytes, read_gb_per_s):
    """Microseconds that it takes to move `nbytes` at `read_gb_per_s` (GB = 1e9 bytes).

    >>> floor_us(8_500_000, read_gb_per_s=4250)
    2.0
    """
    return nbytes / (read_gb_per_s * 1e3)


def intensity(M, N, K, nbytes):
    """Operations per byte moved: 2 M N K (a product and a sum each) over `nbytes`."""
    return 2 * M * N * K / nbytes


def attainable_tflops(operations_per_byte, read_gb_per_s, matmul_tflops):
    """The roofline: the TFLOP/s that memory and arithmetic allow at this intensity.

    >>> attainable_tflops(2.0, read_gb_per_s=4000, matmul_tflops=700)
    8.0
    """
    return min(matmul_tflops, operations_per_byte * read_gb_per_s / 1e3)
