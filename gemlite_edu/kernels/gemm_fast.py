"""How the product for batches is cut into blocks for all multiprocessors at once."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import torch

from gemlite_edu.kernels.fast_weights import Types
from gemlite_edu.kernels.gemv_fast import FastGemv
from gemlite_edu.kernels.machine import HOPPER, shared_bytes_per_block
from gemlite_edu.kernels.plan import WARP_SIZE, WHOLE_ROW, Launch, Plan

WIDTHS = (8, 4, 2)
N_TILE = 8  # outputs whose scales are whole pieces of a bulk copy
LONGEST_K = 2**26  # the texts that arrange x count threads in 32 bits

_BRINGERS = 2  # warps that bring stages
_ROW_BYTES, _BARRIER_BYTES, _STAGE_ALIGNMENT = 64, 16, 128  # words of a step; barriers of a stage
_MOST_STAGES = 16
_ROWS_OF_MMA = 16  # of x: these go to mma.sync and need sums of x, more rows to wgmma
_FEW_ROWS = 32  # have room of their own for sums, and are arranged early
_ARRANGE_THREADS = 128

# {rows of x in a block: ((tiles of a warp, warps along N, groups of them along K), ...)}
_WIDE_SHAPES = ((1, 4, 4), (1, 8, 2), (1, 16, 1))
_SHAPES = {
    16: ((1, 4, 4), (1, 8, 2), (2, 8, 2)),
    32: _WIDE_SHAPES,
    64: _WIDE_SHAPES,
    128: ((1, 4, 2), (1, 8, 1)),  # more warps would have too few registers
    256: ((1, 8, 1),),
}


@dataclass(frozen=True, kw_only=True)
class FastGemm(FastGemv):
    """gemm_a16wn_fast: a product of many rows with `PlaneTiles`, for Hopper and the simulator.

    x is float16; N is a multiple of 8, K of 512 // nbits. Beyond 16 rows a weight and its scale are
    rounded to float16.
    """

    name: str = "gemm_a16wn_fast"

    x_dtypes = (torch.float16,)
    entry = "gemm"
    texts = ("gemm_a16wn_fast", "arrange_for_mma", "arrange_for_wgmma")
    on_older_gpus = "gemv_a16wn_fast"

    @cached_property
    def weights(self):
        """What the text must know of the weights; ValueError for a width or group it has not."""
        if self.nbits not in WIDTHS:
            raise ValueError(f"nbits must be 8, 4 or 2 for gemm_a16wn_fast, got {self.nbits}")
        return super().weights

    @property
    def text(self):
        """Its CUDA text: a name of `sources`."""
        return self.name

    def plan(self, M, N, K, machine):
        """The `Plan` for y (M, N); ValueError for a machine without wgmma."""
        types = Types(self.x_dtype, self.y_dtype, torch.float16, torch.float16)
        return plan_gemm(M, N, K, types, self.weights, machine)


FAST_GEMM = {"gemm_a16wn_fast": FastGemm()}


@lru_cache(maxsize=1024)
def plan_gemm(M, N, K, types, weights, machine):
    """The `Plan` for y (M, N): an image of x, and the product; ValueError where none fits."""
    if machine.capability != HOPPER:
        raise ValueError(
            "gemm_a16wn_fast needs compute capability 9.0, and this GPU has "
            f"{machine.named}: use gemv_a16wn_fast"
        )
    if K % weights.step or N % N_TILE:
        raise ValueError(
            f"gemm_a16wn_fast takes N in {N_TILE}s and K in {weights.step}s, got N = {N} and "
            f"K = {K}: use gemv_a16wn_fast"
        )
    if K > LONGEST_K:
        raise ValueError(f"K may be up to {LONGEST_K}, got {K}: split K over calls")
    cut = best_cut(M, N, K, types, weights, machine)
    image_halves, arrange = _arrange(M, K, cut.rows, weights)
    return Plan((arrange, cut.product(M, N, K, types, weights, machine)), image_halves)


def best_cut(M, N, K, types, weights, machine):
    """The `_Cut` that costs least for a problem that `plan_gemm` takes."""
    cuts = [cut for cut in _cuts(M, machine.largest_cluster) if cut.is_deep_enough(types, weights)]
    return min(cuts, key=lambda cut: cut.cost(M, N, K // weights.step, machine.multiprocessors))


def _cuts(M, largest_cluster):
    """Every `_Cut` for so many rows of x."""
    for rows in _rows(M):
        for shape in _SHAPES[rows]:
            yield from (_Cut(rows, *shape, s) for s in (1, 2, 4) if s <= largest_cluster)


def _rows(M):
    """Of x in a block: all of them, or what several blocks may have."""
    if M <= _ROWS_OF_MMA:
        return (_ROWS_OF_MMA,)
    return tuple(rows for rows in _SHAPES if _ROWS_OF_MMA < rows < 2 * M)


class _Cut(NamedTuple):
    """Rows of x in a block, tiles of a warp, warps along N and K; blocks that may share out K."""

    rows: int
    tiles: int
    warps_n: int
    warps_k: int
    splits: int

    @property
    def block_n(self):
        """Outputs of a block."""
        return 16 * self.tiles * self.warps_n

    def is_deep_enough(self, types, weights):
        """Whether stages are there for the steps that are brought while others are multiplied."""
        return self.stages(types, weights) >= 2 * self.warps_k

    def clusters_at_once(self, multiprocessors):
        """So many run side by side."""
        # Clusters of 4 lie within a GPC each, which leaves some multiprocessors alone: an H200 has
        # 30 of them at once.
        usable = multiprocessors * 10 // 11 if self.splits == 4 else multiprocessors
        return max(usable // self.splits, 1)

    def turns(self, M, N, multiprocessors):
        """(whole, split): how often all clusters take a tile for each block, and then one for all.

        Blocks of a tile of their own leave multiprocessors alone only at the very end.
        """
        tiles, at_once = self.tiles_of(M, N), self.clusters_at_once(multiprocessors)
        if self.splits == 1:
            return -(-tiles // at_once), 0
        whole = tiles // (self.splits * at_once)
        return whole, -(-(tiles - whole * self.splits * at_once) // at_once)

    def tiles_of(self, M, N):
        """Of y."""
        return -(-N // self.block_n) * -(-M // self.rows)

    def cost(self, M, N, steps, multiprocessors, step_scale=1.0):
        """What is least for the cut that is fastest, or nearly, on an H200.

        A step takes products, and time to bring and decode what they take; a turn its beginning and
        end, longer where sums go to another block. The numbers are fitted to measured times.
        step_scale: how long a step takes, in those of 4 bits; cuts are compared as of 4 bits.
        """
        whole, split = self.turns(M, N, multiprocessors)
        step = step_scale * (self.block_n + 16) * (self.rows + 64)
        turn, size = 2**17, self.block_n * self.rows
        own = whole * (steps * step + turn)
        shared = split * (-(-steps // self.splits) * step + turn + 8 * size)
        return own + shared, -size

    @property
    def sum_bytes(self):
        """What the groups of warps of all blocks have added up, for the rows of one block."""
        return 4 * self.warps_k * self.rows * (self.block_n + 4)  # the text's SUM_STRIDE

    @property
    def room_bytes(self):
        """Kept for that beside the stages."""
        return self.sum_bytes if self.rows <= _FEW_ROWS else 16

    def stages(self, types, weights):
        """Steps that shared memory holds at once, as many of each group; 0 if too few."""
        stage = self.stage_bytes(types, weights)
        limit = shared_bytes_per_block(HOPPER) - weights.hole_bytes
        fit = (limit - self.room_bytes) // (stage + _BARRIER_BYTES)
        stages = min(_MOST_STAGES, fit) // self.warps_k * self.warps_k
        return stages if self.sum_bytes <= self.room_bytes + stages * stage else 0

    def stage_bytes(self, types, weights):
        """Of x, words, scales and zeros of a step."""
        scales = weights.step // weights.part * (types.scales.itemsize + types.zeros.itemsize)
        used = 2 * _image_halves(self.rows, weights.step, weights)
        used += self.block_n * (_ROW_BYTES + scales)
        return -(-used // _STAGE_ALIGNMENT) * _STAGE_ALIGNMENT

    def product(self, M, N, K, types, weights, machine):
        """The `Launch` of the product."""
        stages = self.stages(types, weights)
        defines = {
            "W_NBITS": weights.nbits,
            "GROUP_SIZE": weights.group_size or WHOLE_ROW,
            "MODE": weights.mode.name,
            "ROWS": self.rows,
            "TILES": self.tiles,
            "WARPS_N": self.warps_n,
            "WARPS_K": self.warps_k,
            "STAGES": stages,
            "SPLITS": self.splits,
            **types.defines,
        }
        multiprocessors = machine.multiprocessors
        tiles, (turns, _) = self.tiles_of(M, N), self.turns(M, N, multiprocessors)
        whole = min(turns * self.clusters_at_once(multiprocessors), tiles // self.splits)
        grid = ((whole + tiles - whole * self.splits) * self.splits, 1)
        threads = (self.warps_n * self.warps_k + _BRINGERS) * WARP_SIZE
        shared = stages * (self.stage_bytes(types, weights) + _BARRIER_BYTES) + self.room_bytes
        about = dict(
            cluster=self.splits, starts_early=True, text=FastGemm.name, entry=FastGemm.entry
        )
        return Launch(grid, threads, shared, (M, N, K, whole), defines, **about)


def _arrange(M, K, rows, weights):
    """(halves of the image of x, the `Launch` that makes it)."""
    defines, codes_of_a_thread = {"ROWS": rows}, 16
    if rows == _ROWS_OF_MMA:
        defines |= {"TILE_K": weights.step, "PART": weights.part}
        codes_of_a_thread = 8
    blocks, row_blocks = rows * K // (codes_of_a_thread * _ARRANGE_THREADS), -(-M // rows)
    way = "mma" if rows == _ROWS_OF_MMA else "wgmma"
    about = dict(starts_early=rows <= _FEW_ROWS, text=f"arrange_for_{way}", entry="arrange")
    launch = Launch((blocks, row_blocks), _ARRANGE_THREADS, 0, (M, K), defines, **about)
    return row_blocks * _image_halves(rows, K, weights), launch


def _image_halves(rows, K, weights):
    """Of so many rows of x: they and, of few, their sums over the codes that share a scale."""
    sums = 2 * (K // weights.part) if rows == _ROWS_OF_MMA else 0
    return rows * (K + sums)
