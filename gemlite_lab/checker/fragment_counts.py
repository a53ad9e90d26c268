"""The costs of a fragment shape for a product: bytes loaded from shared memory, and padding."""

from dataclasses import dataclass

import torch

from gemlite_edu.packing import FRAGMENTS, pack_bitnet_2bit
from gemlite_edu.runners.load import load
from gemlite_lab.checker.ternary_cases import GEMM, plan_of_gemm

SHAPES = tuple(FRAGMENTS)
COUNTS = ("x_bytes", "W_bytes", "padding")


@dataclass(frozen=True)
class Cut:
    """tiles_m x tiles_n tiles of tile_m x tile_n outputs, which cover y (M, N), sums over K."""

    M: int
    N: int
    K: int
    tile_m: int
    tile_n: int
    tiles_m: int
    tiles_n: int

    @property
    def tiles(self):
        return self.tiles_m * self.tiles_n

    @property
    def x_bytes(self):
        """Bytes of x: each warp loads the x of its tile once."""
        return self.tiles * self.tile_m * self.K

    @property
    def W_bytes(self):
        return self.tiles * self.tile_n * self.K

    @property
    def products(self):
        return self.tiles * self.tile_m * self.tile_n * self.K

    @property
    def padding(self):
        """The number of products that do not go into y."""
        return self.products - self.M * self.N * self.K


def cut(M, N, K, rows, columns, shape):
    """The `Cut` into tiles of rows x columns fragments of this shape."""
    tile_m, tile_n = FRAGMENTS[shape][0] * rows, FRAGMENTS[shape][1] * columns
    return Cut(M, N, K, tile_m, tile_n, -(-M // tile_m), -(-N // tile_n))


def counts_of(the_cut):
    """(x_bytes, W_bytes, padding) of a `Cut`."""
    return tuple(getattr(the_cut, name) for name in COUNTS)


def right_costs(*product):
    """{shape: (x_bytes, W_bytes, padding)} of a product (M, N, K, rows, columns)."""
    return {shape: counts_of(cut(*product, shape)) for shape in SHAPES}


def best_of(costs):
    """The first shape of those that load the fewest bytes with the least padding."""
    return min(SHAPES, key=lambda shape: rank_of(costs[shape]))


def rank_of(counts):
    """(x_bytes + W_bytes, padding) of (x_bytes, W_bytes, padding): the least is the best."""
    return counts[0] + counts[1], counts[2]


def fragments_of_a_warp(M, N, K, shape):
    """How many (rows, columns) of fragments each warp of gemm_a8w2_wmma has."""
    d = plan_of_gemm(M, N, K, shape).defines
    tile_m, tile_n = d["BLOCK_M"] // d["WARPS_M"], d["BLOCK_N"] // d["WARPS_N"]
    return tile_m // d["FRAGMENT_M"], tile_n // d["FRAGMENT_N"]


def counted(M, N, K, shape):
    """(x_bytes, W_bytes) that the simulator counts for gemm_a8w2_wmma."""
    W_packed = pack_bitnet_2bit(torch.ones(N, K, dtype=torch.uint8))
    x = torch.ones(M, K, dtype=torch.int8)
    report = load(GEMM, fragment=shape).inspect(x, W_packed, N=N)
    loads = [line for line in report.lines if "load_matrix_sync" in line.code]
    of_x = [line for line in loads if "x_fragment" in line.code]
    of_W = [line for line in loads if "W_fragment" in line.code]
    return tuple(sum(line.bytes_asked for line in lines) for lines in (of_x, of_W))
