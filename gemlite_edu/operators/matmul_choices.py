"""Which kernel computes how many rows of x: `CHOICES` and `FAST_CHOICES`."""

from functools import cache

MATMUL_TYPES = {
    "GEMV_FAST": "gemv_a16wn_fast",
    "GEMM_FAST": "gemm_a16wn_fast",
    "GEMV": "gemv",
    "GEMV_REVSPLITK": "gemv_revsplitk",
    "GEMM_SPLITK": "gemm_splitk",
    "GEMM": "gemm",
    "DEQUANTIZE": "dense weights, once for each call, and the library's product",
}

# What computes how many rows of x, up to and with that many.
CHOICES = {
    "packed weights that fit the 16-bit type of x and y": (
        (1, "GEMV"),
        (64, "GEMM_SPLITK"),
        (None, "DEQUANTIZE"),
    ),
    "packed weights, otherwise": ((1, "GEMV"), (64, "GEMM_SPLITK"), (None, "GEMM")),
    "weights that are numbers": ((1, "GEMV"), (64, "GEMM_SPLITK"), (None, "GEMM")),
}

# Before these: what the CUDA kernels compute where they take weights, x and y; `fast_types.FAST`.
# Where there is GEMM_FAST, it begins before GEMV_FAST would have to read long weights twice. Many
# rows it is given where it should be sooner than DEQUANTIZE: `fast_types.chosen`.
FAST_CHOICES = {
    "packed weights that fit the 16-bit type of x and y": (
        (4, "GEMV_FAST"),
        (1024, "GEMM_FAST"),
        (8, "GEMV_FAST"),
    ),
    "packed weights, otherwise": ((8, "GEMV_FAST"),),
    "weights that are numbers": (),
}


_ROUNDING = ("DEQUANTIZE", "GEMM_FAST")  # weights to the type of x


def kind_of(is_packed, x_dtype, y_dtype, fits_16_bits):
    """Which row of `CHOICES` these weights, x and y have.

    fits_16_bits: whether dense weights of the type of x keep what the codes say.
    """
    if not is_packed:
        return "weights that are numbers"
    if x_dtype == y_dtype and x_dtype.itemsize == 2 and fits_16_bits:
        return "packed weights that fit the 16-bit type of x and y"
    return "packed weights, otherwise"


@cache
def choices(kind, fast=()):
    """((limit, matmul type), ...) of a row of `CHOICES`; fast: the types of CUDA kernels there are.

    >>> choices("packed weights, otherwise", ("GEMV_FAST",))
    ((8, 'GEMV_FAST'), (64, 'GEMM_SPLITK'), (None, 'GEMM'))
    """
    there = [row for row in FAST_CHOICES[kind] if row[1] in fast]
    rows = []
    for limit, name in (*there, *CHOICES[kind]):
        if limit is None or not rows or limit > rows[-1][0]:
            if rows and rows[-1][1] == name:
                rows.pop()
            rows.append((limit, name))
    return tuple(rows)


def choose(kind, M, fast=()):
    """The matmul type for M rows of x.

    >>> choose("packed weights, otherwise", 16)
    'GEMM_SPLITK'
    """
    return next(name for limit, name in choices(kind, fast) if limit is None or M <= limit)


def check_matmul_type(name, kind):
    """Raise unless it is one of `MATMUL_TYPES`; DEQUANTIZE has to be in that row of `CHOICES`."""
    if not isinstance(name, str) or name not in MATMUL_TYPES:
        raise ValueError(f"matmul_type must be one of {', '.join(MATMUL_TYPES)}, got {name!r}")
    rows = CHOICES[kind] + FAST_CHOICES[kind]
    if name in _ROUNDING and all(name != chosen for _, chosen in rows):
        raise ValueError(
            f"{name} is for packed weights that fit the 16-bit type of x and y, here: {kind}"
        )
