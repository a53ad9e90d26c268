"""Launches at the edges of every kernel's contract, for compute-sanitizer to watch.

One output, one weight, one more or less than the warps of a block; rows of x for one pass and for
two; ragged rows, rows of more than one turn of staging; groups that no warp divides. For Triton:
blocks that reach beyond N and M, groups that fill no plane and no tile, more chunks than tiles. For
int4 weights, in both directions: signed codes, groups that begin within a byte, a split sum. For
ternary weights: a last tile of outputs and of K with little in it, rows for two passes, more steps
along K than buffers, blocks for devices of little shared memory, and on Hopper clusters. For the
GEMVs at the memory limit: blocks of several tiles, a last tile of one output, groups of part of a
step, turns and passes. For the product for batches: more steps than stages, clusters, outputs and
rows beyond the last block, blocks that share a tile, and blocks that share out all of them. For the
product by mma.sync: the same, with rows of W at odd places, and a launch that adds up. For all of
these, a table in shared memory.
"""

import sys

import batch_cases
import fast_cases
import int4_cases
import mma_cases
import sparse_fast_cases
import ternary_cases
import ternary_fast_cases
import torch
import triton_cases
from kernel_cases import PER_CHANNEL, PLAIN_KERNELS, Case, is_right, make_case, poison

from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.machine import AMPERE, HOPPER
from gemlite_edu.kernels.pair_table import pair_table
from gemlite_edu.kernels.triton import KERNELS as TRITON_KERNELS

# Width, N, K, M and scope of the scales.
PACKED_SHAPES = [
    (8, 1, 1, 1, PER_CHANNEL),
    (3, 33, 1000, 2, PER_CHANNEL),
    (4, 31, 1152, 3, 32),
    (1, 33, 96, 9, 24),
    (5, 31, 6200, 9, 40),
]
PLAIN_SHAPES = [(1, 1, 1), (33, 1000, 2), (31, 1152, 9)]
TRITON_EDGES = [
    dict(N=1, M=1, K_and_group=(16, None)),
    dict(N=33, M=17, K_and_group=(240, 48), weights=3),
    dict(N=129, M=5, K_and_group=(68, 17), weights=8, x_dtype=triton_cases.INT8),
]
INT4_EDGES = [
    dict(codes=int4_cases.S4, M=17, N=33, K_and_group=(66, 33), block_n=16, block_k=32, chunks=3),
    dict(
        M=1,
        N=129,
        K_and_group=(144, 48),
        block_k=32,
        b_memory=int4_cases.PLAIN,
        a_dtype=int4_cases.BF16,
    ),
]
TERNARY_GEMV_EDGES = [
    dict(M=1, N=1, K=1),
    dict(M=5, N=33, K=500),
    dict(M=9, N=17, K=2100, y_dtype=ternary_cases.FP16),
]
TERNARY_GEMM_EDGES = [
    dict(M=1, N=1, K=32),
    dict(M=9, N=33, K=2100),
    dict(M=33, N=15, K=31),
    dict(M=65, N=100, K=1100, y_dtype=ternary_cases.BF16),
    dict(M=70, N=8440, K=33),
    dict(M=130, N=16820, K=33),
    dict(M=17, N=70, K=300, capability=ternary_cases.LITTLE_SHARED_MEMORY),
]
TERNARY_FAST_EDGES = [
    dict(M=1, N=1, K=32),
    dict(M=17, N=33, K=2300, cut=(16, 2, 1, 256), splits=2),
    dict(M=33, N=140, K=1100, cut=(32, 2, 1, 256), splits=4, y_dtype=ternary_cases.FP16),
    dict(M=65, N=259, K=1340, cut=(64, 2, 2, 128), y_dtype=ternary_cases.BF16),
    dict(M=70, N=72, K=2100, cut=(64, 1, 1, 128), splits=8),
    dict(M=130, N=260, K=2100, cut=(128, 2, 2, 128), splits=2, y_dtype=ternary_cases.FP16),
    dict(M=300, N=129, K=1400, cut=(128, 2, 1, 128), splits=4),
]
FAST_EDGES = [
    dict(M=1, N=1, least_K=1, group_size=None),
    dict(M=3, N=33, least_K=1000, group_size=32, machine=fast_cases.FEW_BLOCKS),
    dict(M=9, N=130, least_K=300, group_size=None, x_dtype=fast_cases.BF16),
    dict(M=8, N=100, least_K=3000, machine=fast_cases.LITTLE_MEMORY),
    dict(M=2, N=17, least_K=300, group_size=16),
    dict(M=3, N=85, least_K=1000, machine=fast_cases.FEW_BLOCKS),
]
SPARSE_FAST_EDGES = [
    dict(M=1, N=1, least_K=1, group_size=None),
    dict(M=9, N=33, group_size=64, x_dtype=fast_cases.BF16, machine=fast_cases.FEW_BLOCKS),
    dict(M=8, N=100, least_K=3000, machine=fast_cases.LITTLE_MEMORY),
]
BATCH_EDGES = [
    dict(M=1, N=8, least_K=256),
    dict(M=9, N=136, least_K=2560, group_size=32, splits=2),
    dict(M=9, N=264, least_K=2560, width=2, splits=2),
    dict(M=17, N=136, least_K=1536, width=2, rows=32, splits=4),
    dict(M=65, N=72, least_K=1536, group_size=None, rows=64),
    dict(M=130, N=136, least_K=2560, rows=128, splits=4),
    dict(M=300, N=136, least_K=1024, rows=256, splits=2),
    dict(M=300, N=136, least_K=1536, rows=128, splits=2, machine=fast_cases.FEW_BLOCKS),
    dict(M=65, N=136, least_K=1536, rows=64, is_even=True),
    dict(M=65, N=136, least_K=1536, rows=64, splits=3, is_even=True),
    dict(
        M=300, N=264, least_K=1536, rows=128, width=1, is_even=True, machine=fast_cases.FEW_BLOCKS
    ),
    dict(M=130, N=264, least_K=1536, rows=128, width=2, splits=4),
    dict(M=300, N=264, least_K=1536, rows=128, width=2, is_even=True),
    dict(M=300, N=264, least_K=1536, rows=128, width=3, is_even=True),
]
TWO_TILE_EDGES = [  # whose sums leave no room for a table of 8 bits
    dict(M=180, N=264, least_K=2048, rows=176),
    dict(M=300, N=520, least_K=1536, rows=176, splits=4),
]
MMA_EDGES = [
    dict(M=1, N=1, least_K=1, group_size=None),
    dict(M=9, N=33, least_K=1000, group_size=32, machine=mma_cases.ONE_BLOCK),
    dict(M=18, N=130, least_K=2560, x_dtype=fast_cases.BF16),
    dict(M=65, N=140, least_K=1300, group_size=None),
    dict(M=64, N=260, least_K=1536, group_size=64, machine=mma_cases.RTX_4090),
]


def cases():
    for kernel, launch in KERNELS.items():
        x_dtype = launch.x_dtypes[0]
        if kernel in PLAIN_KERNELS:
            for shape in PLAIN_SHAPES:
                yield Case((kernel, None), x_dtype, *shape)
            continue
        for nbits, *shape_and_scope in PACKED_SHAPES:
            variant = (kernel, nbits if launch.takes_nbits else None)
            yield Case(variant, x_dtype, *shape_and_scope)


def triton_edges():
    for kernel in TRITON_KERNELS:
        for edge in TRITON_EDGES:
            yield triton_cases.example(kernel, word_bits=None, **edge)


def int4_edges():
    for direction in (int4_cases.FORWARD, int4_cases.TRANSPOSED):
        for edge in INT4_EDGES:
            yield int4_cases.example(direction, **edge)


def ternary_edges():
    edges = {ternary_cases.GEMV: TERNARY_GEMV_EDGES, ternary_cases.GEMM: TERNARY_GEMM_EDGES}
    for variant in ternary_cases.VARIANTS:
        for edge in edges.get(variant[0], ()):
            yield ternary_cases.Case(variant, **edge)
    if torch.cuda.get_device_capability() == HOPPER:
        yield from (ternary_fast_cases.Case(**edge) for edge in TERNARY_FAST_EDGES)


def fast_edges():
    for nbits in range(8, 0, -1):
        for edge in FAST_EDGES:
            yield fast_cases.Case(nbits, **edge)
    for edge in SPARSE_FAST_EDGES:
        yield sparse_fast_cases.SparseCase(**edge)


def batch_edges():
    yield from edges_of_batches((8, 4), BATCH_EDGES)
    yield from edges_of_batches((2,), BATCH_EDGES[1:2])


def edges_of_batches(widths, edges):
    if torch.cuda.get_device_capability() == HOPPER:
        for nbits in widths:
            yield from (batch_cases.Case(nbits, **edge) for edge in edges)


def mma_edges():
    if torch.cuda.get_device_capability() < AMPERE:
        return
    for nbits in range(8, 0, -1):
        for edge in MMA_EDGES:
            yield mma_cases.Case(nbits, **edge)


def gemv_is_right(case):
    inputs = make_case(case)
    return is_right(
        case, inputs, case.load()(*inputs.operands("cuda"), out=poison(case, "cuda")).cpu()
    )


def triton_is_right(case):
    inputs = triton_cases.make_case(case)
    return triton_cases.is_right(case, inputs, triton_cases.run(case, inputs.on("cuda")))


def int4_is_right(case):
    inputs = int4_cases.make_case(case, device="cuda")
    return int4_cases.is_right(case, inputs, int4_cases.run(case, inputs))


def ternary_is_right(case):
    inputs = ternary_cases.make_case(case)
    return ternary_cases.is_right(case, inputs, ternary_cases.run(case, inputs, "cuda"))


def fast_is_right(case, holes=None):
    inputs, kernel = fast_cases.make_case(case), case.load(replace=holes)
    return fast_cases.is_right(case, inputs, fast_cases.run(case, inputs, "cuda", kernel))


def launches():
    """(function, its arguments) of each."""
    yield from ((gemv_is_right, (case,)) for case in cases())
    yield from ((triton_is_right, (case,)) for case in triton_edges())
    yield from ((int4_is_right, (case,)) for case in int4_edges())
    yield from ((ternary_is_right, (case,)) for case in ternary_edges())
    at_the_limit = [*fast_edges(), *batch_edges(), *mma_edges()]
    two_tiles = edges_of_batches((8, 4, 2), TWO_TILE_EDGES)
    yield from ((fast_is_right, (case,)) for case in (*at_the_limit, *two_tiles))
    for nbits, every in ((3, 1), (4, 2), (8, 3)):
        of_codes = pair_table(range(2**nbits))  # whose levels are the codes themselves
        cases_of_it = [case for case in at_the_limit if case.nbits == nbits]
        yield from ((fast_is_right, (case, of_codes)) for case in cases_of_it[::every])


def main(share="0/1"):
    """Launch each Nth from the Ith on, for a share "I/N"."""
    first, step = map(int, share.split("/"))
    mine = list(launches())[first::step]
    for right, arguments in mine:
        assert right(*arguments), arguments
    print(f"{len(mine)} launches")


if __name__ == "__main__":
    main(*sys.argv[1:])
