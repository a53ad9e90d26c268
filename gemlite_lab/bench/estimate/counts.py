"""What one block of a kernel does, counted by the simulator on a laptop."""

from copy import copy
from dataclasses import dataclass

import torch

from gemlite_edu.kernels.machine import H200
from gemlite_edu.kernels.plan import WARP_SIZE
from gemlite_lab.bench.estimate.loops import Loop, loops_of

_LINE_BYTES = 128  # of the L1: it looks up one line a cycle
_WAVEFRONT_SECTORS = 4  # and delivers 128 bytes
_PROBED_ROWS = 1 << 16


@dataclass(frozen=True)
class BlockCounts:
    """One block's work, and how many blocks there are.

    operations, on_bits: a warp's operations, summed over its warps: all, and shifts, masks and
    conversions among them.
    requests: of warps, to global and to shared memory. l1_cycles: wavefronts of the requests to
    global memory, shared_cycles: to shared memory. nbytes: of all operands and y, for the whole
    launch. loops: those that load x or weights. resident_threads: how many a multiprocessor holds
    at once. asks_ahead: whether warps ask for words a step before they use them.
    """

    blocks: int
    threads: int
    shared_bytes: int
    operations: float
    on_bits: float
    requests: int
    l1_cycles: float
    shared_cycles: float
    nbytes: int
    loops: tuple[Loop, ...]
    resident_threads: int = 2048
    asks_ahead: bool = False

    @property
    def warps(self):
        """Warps of a block."""
        return -(-self.threads // WARP_SIZE)

    @property
    def instructions(self):
        """A warp's operations and requests, summed over the warps of a block."""
        return self.operations + self.requests


def count(kernel, N, K):
    """The `BlockCounts` of a call of `kernel` for one row of x and weights (N, K)."""
    launch = kernel.spec.plan(1, N, K, H200).product
    rows = rows_of_a_block(kernel, K)
    operands, simulated = _operands(kernel, min(rows, N), K), in_simulator(kernel)
    report = simulated.inspect(*operands)
    report.raise_findings()
    operations = simulated.count_operations(*operands)
    lines = report.lines
    return BlockCounts(
        blocks=launch.grid[0],
        threads=launch.threads_per_block,
        shared_bytes=launch.shared_bytes,
        operations=operations.all,
        on_bits=operations.bits,
        requests=sum(line.requests for line in lines),
        l1_cycles=sum(
            line.requests * _wavefronts(line) for line in lines if line.space == "global"
        ),
        shared_cycles=sum(line.cost for line in lines if line.space == "shared"),
        nbytes=_bytes(operands, kernel, N),
        loops=loops_of(
            kernel.source,
            report,
            operations.executed,
            -(-launch.threads_per_block // WARP_SIZE),
            operands[1].nbytes,
        ),
    )


def in_simulator(kernel):
    """The kernel as it takes operands on the CPU, even if it was loaded for a GPU."""
    simulated = copy(kernel)
    simulated.device = "cpu"
    return simulated


def rows_of_a_block(kernel, K):
    """Outputs of one block."""
    return _PROBED_ROWS // kernel.spec.plan(1, _PROBED_ROWS, K, H200).product.grid[0]


def _wavefronts(line):
    """Cycles that the L1 takes for a request of this line of text: its 128-byte lines."""
    request = line.costliest
    touched = {at // _LINE_BYTES for at in request.bytes_of.values()}
    share = line.per_request / request.cost
    return max(1.0, share * max(len(touched), request.cost / _WAVEFRONT_SECTORS))


def _operands(kernel, N, K):
    """(x, W[, scales, zeros]) of random numbers, for `Kernel.inspect`."""
    spec, generator = kernel.spec, torch.Generator().manual_seed(0)
    x = torch.randint(-8, 8, (1, K), generator=generator).to(spec.x_dtype)
    if not spec.is_packed:
        return x, torch.randint(-8, 8, (N, K), generator=generator).to(spec.x_dtype)
    words = spec.layout(K).packed_shape(N, K)
    W = torch.randint(-(2**31), 2**31, words, generator=generator).to(torch.int32)
    shape = (N, K // (spec.group_size or K))
    numbers = torch.int32 if spec.x_dtype == torch.int8 else torch.float32
    return x, W, torch.ones(shape, dtype=numbers), torch.ones(shape, dtype=numbers)


def _bytes(operands, kernel, N):
    x, W, *others = operands
    of_rows = sum(t.nbytes for t in (W, *others)) // len(W) * N
    return x.nbytes + of_rows + N * kernel.y_dtype.itemsize
