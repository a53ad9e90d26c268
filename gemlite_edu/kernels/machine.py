"""`Machine`: what a plan must know about the GPU, or the simulator, that runs it."""

from functools import cache
from typing import NamedTuple

import torch

# Bytes of shared memory that one block may ask for.
# Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_KIB = 1024
_SHARED_BYTES_PER_BLOCK: dict[tuple[int, ...], int] = {
    (7, 0): 96 * _KIB,
    (7, 5): 64 * _KIB,
    (8, 0): 163 * _KIB,
    (8, 6): 99 * _KIB,
    (8, 7): 163 * _KIB,
    (8, 9): 99 * _KIB,
    (9, 0): 227 * _KIB,
    (10, 0): 227 * _KIB,
    (10, 3): 227 * _KIB,
    (12, 0): 99 * _KIB,
    (12, 1): 99 * _KIB,
}
SHARED_BYTES_WITHOUT_OPT_IN = 48 * _KIB  # every device grants a launch this much
STATIC_SHARED_BYTES = 48 * _KIB  # the limit, on every device, of arrays with a compile-time size

MAX_GRID_Y = 65535
# The first with m16n8 tensor cores, the first with asynchronous copies, the one with wgmma.
TURING, AMPERE, HOPPER = (7, 5), (8, 0), (9, 0)


class Machine(NamedTuple):
    """A GPU, or the simulator.

    capability: (major, minor). largest_cluster: how many blocks can access each other's shared
    memory.
    """

    capability: tuple[int, int]
    multiprocessors: int
    largest_cluster: int = 1

    @property
    def shared_bytes_per_block(self) -> int:
        """The shared memory, in bytes, that one block may request."""
        return shared_bytes_per_block(self.capability)

    @property
    def starts_early(self) -> bool:
        """True if a kernel may start before the previous one in its stream ends."""
        return self.capability >= HOPPER

    @property
    def named(self) -> str:
        """The compute capability as CUDA writes it.

        >>> H200.named
        '9.0'
        """
        return "{}.{}".format(*self.capability)


H200 = Machine(HOPPER, 132, 8)
SIMULATED = H200._replace(largest_cluster=1)  # an H200 without clusters


@cache
def machine_of(device: torch.device) -> Machine:
    """The `Machine` that runs kernels on tensors of `device`; for the CPU, the simulator."""
    if device.type != "cuda":
        return SIMULATED
    capability = torch.cuda.get_device_capability(device)
    count = torch.cuda.get_device_properties(device).multi_processor_count
    return Machine(capability, count, H200.largest_cluster if capability == HOPPER else 1)


def shared_bytes_per_block(capability: tuple[int, int]) -> int:
    """Shared memory that one block may request, in bytes; 48 KiB for a device not in the table.

    >>> shared_bytes_per_block((9, 0))
    232448
    """
    return _SHARED_BYTES_PER_BLOCK.get(tuple(capability), SHARED_BYTES_WITHOUT_OPT_IN)
