"""How the int4 kernels are cut into programs, like `configs`, plus BLOCK_K: columns of W.

The forward product sums over pieces of K, the transposed one over rows of W; `chunks` splits either
sum. BLOCK_K is at least 32: up to 3.7, Triton computes a wrong product of 16 columns if tl.dot's
left operand was unpacked in registers (triton-lang/triton, pull request 11691).
"""

from .configs import block_m, useful_chunks

NAMES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "chunks", "num_warps", "num_stages")
_POWERS_OF_TWO = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps")
_LEAST = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}
_BLOCKS_K = (128, 64, 32)
_INTERPRETED = (64, 256, 128, 1, 1, 1)
_SAFE = (64, 64, 64, 4, 2)  # fits the shared memory of every GPU

# (rows of x, rows of W and columns of W per program, warps, tiles in flight).
_FEW = ((16, 64, 128, 4, 3), (16, 128, 128, 4, 3), (32, 64, 128, 4, 3), (32, 128, 128, 4, 3))
_MANY = ((64, 64, 128, 4, 3), (64, 128, 128, 8, 3), (64, 64, 64, 4, 4), (64, 64, 128, 4, 4))
_MORE = ((128, 64, 128, 4, 3), (128, 128, 128, 8, 2), (128, 64, 128, 8, 3), (128, 128, 128, 8, 3))


def block_k(group_size, most=128):
    """Columns per piece: the size that wastes least of a group's last piece; the largest of those.

    >>> [block_k(group_size) for group_size in (128, 96, 48, 24, 5)]
    [128, 32, 64, 32, 32]
    """
    sizes = [size for size in _BLOCKS_K if size <= most]
    return min(sizes, key=lambda size: (-(-group_size // size) * size, -size))


def default_config(M, N, K, group_size, transposed, interpreted):
    """A config that works for every problem on every GPU; it is not measured, so it may be slow."""
    if interpreted:
        rows, block_n, most, *rest = _INTERPRETED
        return _config(rows, block_n, block_k(group_size, most), *rest)
    return _candidates([_SAFE], M, N, K, group_size, transposed)[0]


def check_config(config):
    """Raise unless `config` is valid; it may still ask for more than the GPU has."""
    if not isinstance(config, dict) or config.keys() != set(NAMES):
        came = sorted(config) if isinstance(config, dict) else type(config).__name__
        raise ValueError(f"config must be a dict of {', '.join(NAMES)}, got {came}")
    for name, value in config.items():
        least = _LEAST.get(name, 1)
        is_int = isinstance(value, int) and not isinstance(value, bool)
        if not is_int or value < least or (name in _POWERS_OF_TWO and value.bit_count() > 1):
            kind = "a power of two" if name in _POWERS_OF_TWO else "an int"
            raise ValueError(f"{name} must be {kind} of at least {least}, got {value!r}")


def candidates(M, N, K, group_size, transposed, few_rows):
    """Configs worth trying for M rows of x. few_rows: try 16 and 32 rows and more chunks too."""
    shapes = _MANY if M <= 64 else _MORE
    if not few_rows:
        found = (_candidates([shape], M, N, K, group_size, transposed)[:2] for shape in shapes)
        return [config for configs in found for config in configs]
    few = [shape for shape in _FEW if shape[0] == block_m(M)]
    return _candidates([*few, *shapes], M, N, K, group_size, transposed)


def _candidates(shapes, M, N, K, group_size, transposed):
    found = []
    for rows, block_n, most, warps, stages in shapes:
        columns = block_k(group_size, most)
        blocks = -(-K // columns) if transposed else -(-N // block_n)
        for chunks in useful_chunks(-(-M // rows) * blocks * warps):
            found.append(_config(rows, block_n, columns, chunks, warps, stages))
    return found


def _config(*values):
    return dict(zip(NAMES, values, strict=True))
