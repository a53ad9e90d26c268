"""Facts about GPUs that a launch depends on, by compute capability."""

# Bytes of shared memory that one block may ask for.
# Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_KIB = 1024
_SHARED_BYTES_PER_BLOCK = {
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
SHARED_BYTES_WITHOUT_OPT_IN = 48 * _KIB  # that a launch may ask of every device
STATIC_SHARED_BYTES = 48 * _KIB  # of arrays whose size is in the kernel's text, on every device

SIMULATED_CAPABILITY, SIMULATED_MULTIPROCESSORS = (9, 0), 132  # an H200's
MAX_GRID_Y = 65535


def shared_bytes_per_block(capability):
    """Shared memory that one block may have, in bytes; 48 KiB for a device not in the table.

    >>> shared_bytes_per_block((9, 0))
    232448
    """
    return _SHARED_BYTES_PER_BLOCK.get(tuple(capability), SHARED_BYTES_WITHOUT_OPT_IN)
