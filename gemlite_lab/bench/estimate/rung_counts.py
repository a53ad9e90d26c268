"""What one block of a rung of the ladder does, as Nsight Compute counted it on an H200.

A rung multiplies on tensor cores, whose instructions the simulator does not count.
"""

from gemlite_edu.kernels.machine import H200
from gemlite_edu.kernels.plan import WARP_SIZE
from gemlite_lab.bench import instructions
from gemlite_lab.bench.estimate.counts import BlockCounts
from gemlite_lab.bench.estimate.loops import Loop
from gemlite_lab.bench.ladder import counted
from gemlite_lab.bench.ladder.kernel import GROUP_SIZE
from gemlite_lab.bench.roofline import least_bytes

_WAIT_IN_EACH_STEP = (
    *("tensor cores", "16 bytes a load", "K over 32 warps", "magic numbers", "lop3 by hand"),
    *("a step ahead", "blocks that stay"),
)
_WAVEFRONT_SECTORS = 4
_RESIDENT_THREADS = 1024  # a lane holds its words and sums in up to 64 registers


def count_rung(kernel, N, K):
    """The `BlockCounts` of a call of a `RungKernel` for weights (N, K)."""
    record, width = counted(), str(kernel.nbits)
    loop = instructions.recorded()["rungs"][width][kernel.rung.name]
    launch = kernel.spec.plan(1, N, K, H200).product
    share = N * K / (record["N"] * record["K"]) / launch.grid[0]
    counts = {name: n * share for name, n in record["rungs"][width][kernel.rung.name].items()}
    sectors, warps = counts["global load sectors"], launch.threads_per_block // WARP_SIZE
    return BlockCounts(
        blocks=launch.grid[0],
        threads=launch.threads_per_block,
        shared_bytes=launch.shared_bytes,
        operations=counts["instructions"] - counts["global loads"],
        on_bits=counts["instructions"] * loop["integer"] / loop["all"],
        requests=counts["global loads"],
        l1_cycles=sectors / _WAVEFRONT_SECTORS,
        shared_cycles=0,
        nbytes=least_bytes(1, N, K, kernel.nbits, GROUP_SIZE),
        loops=(Loop(counts["global loads"] / warps, loads=1, registers=1, new=1),),
        resident_threads=_RESIDENT_THREADS,
        asks_ahead=_asks_ahead(kernel.rung),
    )


def _asks_ahead(rung):
    """True if words that warps of this `Rung` asked for early come while they compute.

    From "a step ahead" on they ask early. But up to "blocks that stay" they then ask the L1 for x.
    We suppose that it answers a warp in order: x comes behind the next words, and so late.
    """
    return rung.name not in _WAIT_IN_EACH_STEP
