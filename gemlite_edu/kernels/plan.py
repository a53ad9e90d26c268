"""What the host tells a runner to launch: `Plan`."""

import math
from typing import NamedTuple

from gemlite_edu.kernels.machine import MAX_GRID_Y

WARP_SIZE = 32
LONGEST = 2**31 - 2**16  # M, N and K are ints in a kernel, also rounded up to whole tiles
WHOLE_ROW = 0x7FFFFFFF  # GROUP_SIZE of one scale per output
_MAX_ROWS = 8  # of x that share one pass over the packed weights


class Launch(NamedTuple):
    """One launch of a CUDA text.

    grid: (x, y) blocks. threads, shared_bytes: of a block; its dynamic shared memory. integers:
    arguments that follow the tensors. defines: macros that the text is compiled with.
    cluster: neighbours of the grid's first dimension that reach each other's shared memory.
    starts_early: before the kernel ahead of it has ended, whose work its text waits for.
    text, entry: name of the text in `sources`, and its __global__ function.
    """

    grid: tuple[int, int]
    threads: int
    shared_bytes: int = 0
    integers: tuple[int, ...] = ()
    defines: dict = {}
    cluster: int = 1
    starts_early: bool = False
    text: str = ""
    entry: str = ""


class Plan(NamedTuple):
    """The launches of one call; the last one, the product, writes y.

    One before it turns x into an image of `image_halves` float16 numbers, which the product reads
    in place of x.
    """

    launches: tuple[Launch, ...]
    image_halves: int = 0

    @property
    def product(self):
        """The launch that writes y."""
        return self.launches[-1]

    def check_rows(self, M):
        """Raise ValueError if M rows of x need more blocks than a grid may have."""
        passes = max(launch.grid[1] for launch in self.launches)
        if passes > MAX_GRID_Y:
            most = MAX_GRID_Y * -(-M // passes)
            raise ValueError(f"x has M = {M} rows, a launch takes {most}: split x by rows")


def check_sizes(M, N, K):
    """Raise ValueError if a kernel's ints cannot count a size."""
    if max(M, N, K) > LONGEST:
        raise ValueError(f"M, N and K may be up to {LONGEST}, got {M}, {N} and {K}")


def rows_in_one_pass(M):
    """Rows of x that share one pass over the weights: M up to 8, and to a power of two.

    >>> [rows_in_one_pass(M) for M in (1, 3, 8, 9)]
    [1, 4, 8, 8]
    """
    return min(2 ** max(M - 1, 0).bit_length(), _MAX_ROWS)


def codes_per_group(layout, group_size):
    """How many codes of a word, one after the other, share a group, whatever the lane and word.

    They are 32 apart in k, so it is one code where group_size is no multiple of 32.

    >>> from gemlite_edu.packing import WarpInterleaved
    >>> [codes_per_group(WarpInterleaved(4), size) for size in (None, 128, 96, 64, 48)]
    [8, 4, 1, 2, 1]
    """
    pack_factor = layout.tile // WARP_SIZE
    if group_size is None:
        return pack_factor
    return 1 if group_size % WARP_SIZE else math.gcd(pack_factor, group_size // WARP_SIZE)
