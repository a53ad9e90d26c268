"""How kernels are cut into programs, as plain data: the candidates for tuning and the defaults.

BLOCK_N, BLOCK_M: rows of W and of x per program. chunks: the number of parts into which programs
split K. num_warps, num_stages: warps per program; tiles in flight at once.
"""

Config = dict[str, int]

NAMES = ("BLOCK_M", "BLOCK_N", "chunks", "num_warps", "num_stages")
_INTERPRETED = {"gemv": (1, 512, 1, 1, 1), "gemm": (64, 512, 1, 1, 1)}

# (rows of W per program, warps, tiles in flight); tuning tries the number of chunks separately.
_GEMV = ((64, 1, 3), (128, 2, 3), (64, 2, 3), (64, 1, 1), (128, 2, 1), (32, 1, 1))
_GEMM_FEW = ((128, 2, 3), (64, 1, 3), (64, 2, 3), (128, 4, 3), (64, 4, 3))  # up to 16 rows of x
_SHAPES = {
    "gemv": _GEMV,
    "gemv_revsplitk": (_GEMV[2], *_GEMV[:2], *_GEMV[3:]),  # two tiles need twice the registers
    "gemm_splitk": _GEMM_FEW,
    "gemm": _GEMM_FEW,
}
_GEMM_MANY = ((128, 4, 3), (128, 8, 3), (64, 4, 3), (128, 8, 5))
_GEMM_SAFE = (64, 64, 1, 4, 2)  # fits the shared memory of every GPU
_CHUNKS = (1, 2, 4, 8, 16, 32)
_WARPS_AT_ONCE = (1000, 10000)  # over all programs: enough to fill a big GPU, not too many


def _config(*values: int) -> Config:
    return dict(zip(NAMES, values, strict=True))


def is_gemv(name: str) -> bool:
    """True if the kernel takes one row of x at a time, without tensor cores."""
    return name.startswith("gemv")


def block_m(M: int) -> int:
    """Rows of x per program, for kernels that use tensor cores.

    >>> [block_m(M) for M in (1, 16, 17, 64, 4096)]
    [16, 16, 32, 64, 128]
    """
    return next((rows for rows in (16, 32, 64) if M <= rows), 128)


def default_config(name: str, M: int, N: int, interpreted: bool) -> Config:
    """A config that works for every problem on every GPU; it is not measured, so it may be slow."""
    if interpreted:
        return _config(*_INTERPRETED["gemv" if is_gemv(name) else "gemm"])
    first = candidates(name, M, N)[0]
    if first["BLOCK_M"] <= 16:
        return first
    return _config(*_GEMM_SAFE) | {"chunks": first["chunks"]}


def candidates(name: str, M: int, N: int) -> list[Config]:
    """Configs worth trying for M rows of x and N rows of W, the most promising first."""
    rows = 1 if is_gemv(name) else block_m(M)
    shapes = _SHAPES[name] if rows <= 16 else _GEMM_MANY
    found = [
        _config(rows, block_n, chunks, warps, stages)
        for block_n, warps, stages in shapes
        for chunks in _chunks(name, -(-M // rows) * -(-N // block_n) * warps)
    ]
    return found if rows <= 16 else [*found, _config(*_GEMM_SAFE) | {"chunks": found[0]["chunks"]}]


def _chunks(name: str, warps: int) -> list[int]:
    return [1] if name == "gemm" else useful_chunks(warps)


def useful_chunks(warps: int) -> list[int]:
    """The numbers of parts worth splitting a sum into, if each part runs `warps` warps."""
    fewest, most = _WARPS_AT_ONCE
    useful = [chunks for chunks in _CHUNKS if fewest <= chunks * warps <= most]
    return useful or [_CHUNKS[-1] if warps < fewest else _CHUNKS[0]]
