"""`Plan`, which tells a runner what to launch."""

import math
from typing import NamedTuple

from gemlite_edu.kernels.machine import MAX_GRID_Y
from gemlite_edu.packing.warp_interleaved import WarpInterleaved

WARP_SIZE = 32
LONGEST = 2**31 - 2**16  # kernels hold M, N and K, rounded up to whole tiles, in ints
WHOLE_ROW = 0x7FFFFFFF  # the GROUP_SIZE that means one scale per output
_MAX_ROWS = 8  # rows of x that share one pass over the packed weights


class Launch(NamedTuple):
    """One launch of a CUDA text.

    grid: (x, y) in blocks. threads: per block; the simulator also takes the shape of a block,
    (x, y) or (x, y, z). shared_bytes: dynamic shared memory per block.
    integers: the arguments after the tensors. defines: {macro: value} to compile the text with.
    cluster: neighbouring blocks along grid x that can access each other's shared memory.
    starts_early: the kernel may start before the previous one ends; its text waits for that one's
    results. text, entry: the text's name in `sources`, and its __global__ function.
    """

    grid: tuple[int, int]
    threads: int | tuple[int, ...]
    shared_bytes: int = 0
    integers: tuple[int, ...] = ()
    defines: dict = {}
    cluster: int = 1
    starts_early: bool = False
    text: str = ""
    entry: str = ""

    @property
    def block(self) -> tuple[int, ...]:
        """The shape of a block: (x, y, z) in threads."""
        shape = (self.threads,) if isinstance(self.threads, int) else self.threads
        return (*shape, *(1,) * (3 - len(shape)))

    @property
    def threads_per_block(self) -> int:
        return math.prod(self.block)

    def __str__(self) -> str:
        threads = (
            self.threads if isinstance(self.threads, int) else " x ".join(map(str, self.threads))
        )
        return f"{self.grid[0]} x {self.grid[1]} blocks of {threads} threads"


class Plan(NamedTuple):
    """The launches of one call; the last one writes y, and one of them is the product.

    scratch_halves: the product takes, before x, a tensor of so many float16 numbers for its own
    use, absent if there are 0; None: it takes no such tensor. A launch before the product prepares
    it, with x: it puts an image of x there, or lowers the flags of blocks that leave sums for each
    other. A launch behind the product adds up the sums of `sums_shape` (splits, M, N) in float32,
    which the product then writes instead of y.
    """

    launches: tuple[Launch, ...]
    scratch_halves: int | None = None
    sums_shape: tuple[int, ...] = ()

    @property
    def product(self) -> Launch:
        """The launch that multiplies."""
        return self.launches[-2 if self.sums_shape else -1]

    def check_rows(self, M: int) -> None:
        """Raise ValueError if M rows of x need more blocks than a grid may have."""
        passes = max(launch.grid[1] for launch in self.launches)
        if passes > MAX_GRID_Y:
            most = MAX_GRID_Y * -(-M // passes)
            raise ValueError(f"x has M = {M} rows, a launch takes {most}: split x by rows")


def check_sizes(M: int, N: int, K: int) -> None:
    """Raise ValueError if a size does not fit into a kernel's ints.

    A size that torch keeps symbolic has no largest number yet, and must not get one here.
    """
    if any(isinstance(size, int) and size > LONGEST for size in (M, N, K)):
        raise ValueError(f"M, N and K may be up to {LONGEST}, got {M}, {N} and {K}")


def rows_in_one_pass(M: int) -> int:
    """Rows of x that share one pass over the weights: M rounded up to a power of two, at most 8.

    >>> [rows_in_one_pass(M) for M in (1, 3, 8, 9)]
    [1, 4, 8, 8]
    """
    return min(2 ** max(M - 1, 0).bit_length(), _MAX_ROWS)


def codes_per_group(layout: WarpInterleaved, group_size: int | None) -> int:
    """How many consecutive codes of a word always share a group, in every lane and word.

    The codes of a word are 32 apart in k, so it is 1 if group_size is not a multiple of 32.

    >>> from gemlite_edu.packing import WarpInterleaved
    >>> [codes_per_group(WarpInterleaved(4), size) for size in (None, 128, 96, 64, 48)]
    [8, 4, 1, 2, 1]
    """
    pack_factor = layout.tile // WARP_SIZE
    if group_size is None:
        return pack_factor
    return 1 if group_size % WARP_SIZE else math.gcd(pack_factor, group_size // WARP_SIZE)
