"""Plan the GEMM for batches: cut y into blocks that keep all multiprocessors busy."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import torch

from gemlite_edu.kernels.fast_weights import Types
from gemlite_edu.kernels.gemv_fast import FastGemv
from gemlite_edu.kernels.machine import HOPPER, shared_bytes_per_block
from gemlite_edu.kernels.plan import WARP_SIZE, WHOLE_ROW, Launch, Plan

LEAST_PART = 32  # of the codes of a step, those that share a scale
N_TILE = 8  # outputs whose scales fill whole 16-byte pieces of a bulk copy
LONGEST_K = 2**26  # far beyond a W that fits a GPU: steps and threads are counted in 32 bits

_BRINGERS = 4  # producer warps: two for weights, one for x, one for the flag of what a block leaves
_BARRIER_BYTES = 16  # of a stage
_STAGE_ALIGNMENT, _BOX_ALIGNMENT = 128, 1024  # of a stage, and of one with boxes of x
_LEFT_BYTES = 8  # the barrier for what a block leaves
_MOST_STAGES = 16
_ROWS_OF_MMA = 16  # up to 16 rows of x use mma.sync, which needs sums of x; more rows use wgmma
_FEW_ROWS = 32  # up to 32 rows have separate memory for sums
_ARRANGE_THREADS, _NUMBERS_OF_A_THREAD = 128, 8  # of x

# What a step, a tile, and the launch that lowers flags add to a cost, of which 1 is the product of
# 128 codes of an output by a row of x.
_STEP, _TURN, _LOWERING = 4_000, 80_000, 75_000

# The share of multiprocessors that whole tiles may leave idle: an H200 then took 2 to 12% longer
# where blocks shared out all tiles.
_LITTLE_IDLE = 0.04

# How many blocks may share out a tile: those of a cluster, those that leave sums in memory.
_CLUSTERS, _SHARERS = (1, 2, 4), tuple(range(1, 9))

# {rows of x in a block: ((tiles per warp, warps along N, groups of warps along K), ...)}. The last
# shape of few rows fits into shared memory whatever a step has: many codes, their scales, a table.
_SMALL_SHAPE = (1, 8, 1)
_WIDE_SHAPES = ((1, 4, 2), (1, 8, 2), (1, 16, 1), _SMALL_SHAPE)
_SHAPES = {
    16: ((1, 4, 4), (1, 8, 2), (2, 8, 2), _SMALL_SHAPE),
    32: _WIDE_SHAPES,
    64: _WIDE_SHAPES,
    128: ((1, 4, 2), (1, 8, 1), (1, 12, 1), (1, 16, 1)),
    176: ((2, 8, 1),),
    256: ((1, 8, 1),),
}


@dataclass(frozen=True, kw_only=True)
class FastGemm(FastGemv):
    """gemm_a16wn_fast: multiplies many rows of x, on Hopper and in the simulator.

    x is float16; N is a multiple of 8, K of a tile of the weights' layout. Beyond 16 rows, the
    kernel rounds each weight and its scale to float16.
    """

    name: str = "gemm_a16wn_fast"

    x_dtypes = (torch.float16,)
    entry = "gemm"
    texts = ("gemm_a16wn_fast", "arrange_for_mma", "lower_flags")
    on_older_gpus = "gemv_a16wn_fast"

    @cached_property
    def weights(self):
        """The `FastWeights`; ValueError for an unsupported width or group size."""
        weights = super().weights
        if weights.part < LEAST_PART:
            raise ValueError(
                f"group_size must be {LEAST_PART} or more for gemm_a16wn_fast, got {weights.part}"
            )
        return weights

    @property
    def text(self):
        """The name of the kernel's CUDA text in `sources`."""
        return self.name

    def plan(self, M, N, K, machine):
        """The `Plan` for y (M, N); ValueError if the machine has no wgmma."""
        types = Types(self.x_dtype, self.y_dtype, torch.float16, torch.float16)
        return plan_gemm(M, N, K, types, self.weights, machine)


FAST_GEMM = {"gemm_a16wn_fast": FastGemm()}


@lru_cache(maxsize=1024)
def plan_gemm(M, N, K, types, weights, machine):
    """The `Plan` for y (M, N): a launch that prepares its scratch, if any, and then the product.

    Raises ValueError if no plan fits.
    """
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
    cut = _best_cut(M, N, K, types, weights, machine)
    product = cut.product(M, N, K, types, weights, machine)
    if cut.rows == _ROWS_OF_MMA:
        return Plan((_arrange(M, K, weights), product), _image_halves(M, K, weights))
    if not cut.is_even:
        return Plan((product,), scratch_halves=0)
    blocks, _ = product.grid
    return Plan((_lower(blocks), product), blocks * cut.left_bytes // 2)


def _best_cut(M, N, K, types, weights, machine):
    """The cheapest `_Cut` for a problem that `plan_gemm` accepts."""
    steps, multiprocessors = K // weights.step, machine.multiprocessors
    cuts = [
        cut
        for cut in _cuts(M, machine.largest_cluster)
        if cut.fits(types, weights) and not (cut.is_even and cut.splits > steps)
    ]  # a block without steps would leave no sums, and another would wait for them for ever

    def rank(cut):
        gains_nothing = cut.shares_in_vain(M, N, multiprocessors)
        return gains_nothing, cut.cost(M, N, K, weights.step, multiprocessors)

    return min(cuts, key=rank)


def _cuts(M, largest_cluster):
    """Every `_Cut` for M rows of x."""
    for rows in _rows(M):
        for shape in _SHAPES[rows]:
            yield from (_Cut(rows, *shape, s) for s in _CLUSTERS if s <= largest_cluster)
            if _may_be_even(rows, *shape):
                yield from (_Cut(rows, *shape, s, is_even=True) for s in _SHARERS)


def _may_be_even(rows, tiles, _warps_n, warps_k):
    """True if blocks of this shape may share out the steps of all tiles.

    With 16 rows that was never faster. Of many rows, sums lie where a stage has been: only the
    warps that took its step know when copies may fill it again. With two tiles a warp, sums would
    pass through a stage in quarters; 176 rows have 22 tensor-core columns, which 4 does not divide.
    """
    return rows > _ROWS_OF_MMA and tiles == 1 and (warps_k == 1 or rows <= 64)


def _rows(M):
    """The possible numbers of rows of x per block: 16 for up to 16 rows, else more of them."""
    if M <= _ROWS_OF_MMA:
        return (_ROWS_OF_MMA,)
    return tuple(rows for rows in _SHAPES if _ROWS_OF_MMA < rows < 2 * M)


class _Cut(NamedTuple):
    """How blocks share out a product.

    Rows of x in a tile, tiles of 16 outputs per warp, warps along N and K. splits: blocks that
    share out the steps along K of one tile, as a cluster. is_even: the blocks form no cluster; they
    leave sums to each other in global memory. With splits = 1 as well, as many blocks as there are
    multiprocessors share out the steps of all tiles.
    """

    rows: int
    tiles: int
    warps_n: int
    warps_k: int
    splits: int
    is_even: bool = False

    @property
    def block_n(self):
        """Outputs (columns of y) per block."""
        return 16 * self.tiles * self.warps_n

    def fits(self, types, weights):
        """True if shared memory holds two steps per group of warps, and registers the codes.

        With 12 warps along N, nvcc spills codes of 5 and 7 bits, and those of 7 were slow.
        """
        has_registers = self.warps_n != 12 or weights.nbits not in (5, 7)
        return has_registers and self.stages(types, weights) >= 2 * self.warps_k

    def shares_in_vain(self, M, N, multiprocessors):
        """True if blocks share out all tiles where whole tiles keep nearly all of the GPU busy.

        Such blocks need the same rows of W at different times, when L2 may have lost them.
        """
        tiles = self.tiles_of(M, N)
        turns = -(-tiles // multiprocessors)
        is_full = tiles >= (1 - _LITTLE_IDLE) * turns * multiprocessors
        return self.is_even and self.splits == 1 and is_full

    def clusters_at_once(self, multiprocessors):
        """How many clusters run side by side."""
        # A cluster of 4 must lie within one GPC, which leaves some multiprocessors idle: an H200
        # runs 30 such clusters at once.
        usable = multiprocessors * 10 // 11 if self.splits == 4 else multiprocessors
        return max(usable // self.splits, 1)

    def blocks(self, M, N, steps, multiprocessors):
        """Number of blocks."""
        tiles = self.tiles_of(M, N)
        shares_all = self.is_even and self.splits == 1
        return min(multiprocessors, tiles * steps) if shares_all else tiles * self.splits

    def tiles_of(self, M, N):
        """Number of tiles of y."""
        return -(-N // self.block_n) * -(-M // self.rows)

    def cost(self, M, N, K, step_codes, multiprocessors):
        """(cost, -block size): the smallest pair belongs to the fastest cut on an H200, or nearly.

        A step costs its products. Decoding adds what `_rows_of_decoding` would, loading x what 24
        more outputs would. Each step adds a wait, too, in which the other groups of warps work.
        A block has a start and an end for each of its tiles, and for the one that it may begin or
        end within; and sums that go to another block cost time. The constants are fitted to
        measured times.
        """
        steps, size = K // step_codes, self.block_n * self.rows
        products = size + self._rows_of_decoding(step_codes) * self.block_n + 24 * self.rows
        step = step_codes * products / 128 + _STEP / self.warps_k
        tiles, blocks = self.tiles_of(M, N), self.blocks(M, N, steps, multiprocessors)
        if self.is_even:
            turns, share = -(-blocks // multiprocessors), -(-tiles * steps // blocks)
            end = (tiles / blocks + 1) * _TURN + 8 * self._givers(tiles, blocks) * size
            return turns * (share * step + end) + _LOWERING, -size
        turns = -(-tiles // self.clusters_at_once(multiprocessors))
        end = _TURN + 6 * size if self.splits > 1 else _TURN
        return turns * (-(-steps // self.splits) * step + end), -size

    def _rows_of_decoding(self, step_codes):
        """How many more rows of x would take as long as decoding.

        Where warps of wgmma have two tiles each, half as many warps hide it, and hide less of it in
        a longer step.
        """
        two_for_wgmma = self.tiles == 2 and self.rows > _ROWS_OF_MMA
        return 89 + step_codes / 10 if two_for_wgmma else 96

    def _givers(self, tiles, blocks):
        """How many blocks leave sums to the one that ends a tile."""
        if self.splits > 1:
            return self.splits - 1
        return max(blocks / tiles, 1) if tiles % blocks else 0

    @property
    def left_bytes(self):
        """Bytes of a block's flag, and of the sums that it may leave to another block."""
        return 16 + 4 * self.warps_k * self.rows * self.block_n

    @property
    def row_sums_bytes(self):
        """Bytes for the sums of one row of x that all groups of warps along K make."""
        return 4 * self.warps_k * (self.block_n + (4 if self.is_even else 0))

    @property
    def room_bytes(self):
        """Bytes reserved for sums besides the stages; with many rows, sums reuse the stages."""
        if self.rows <= _FEW_ROWS:
            return self.rows * self.row_sums_bytes
        return 16 * self.row_sums_bytes if self.rows == 64 and self.is_even else 16

    def stages(self, types, weights):
        """Steps that shared memory holds at once, equally many per group.

        0 if there is no room for one a group, or for the sums that lie there afterwards.
        """
        stage = self.stage_bytes(types, weights)
        limit = shared_bytes_per_block(HOPPER) - weights.hole_bytes
        fit = (limit - self.room_bytes - _LEFT_BYTES) // (stage + _BARRIER_BYTES)
        stages = min(_MOST_STAGES, fit) // self.warps_k * self.warps_k
        reuses_stages = not self.is_even and self.rows > _FEW_ROWS
        return 0 if reuses_stages and self.rows * self.row_sums_bytes > stages * stage else stages

    def stage_bytes(self, types, weights):
        """Bytes of the x, words, scales and zeros of one step."""
        scales = weights.step // weights.part * (types.scales.itemsize + types.zeros.itemsize)
        x_halves, alignment = self.rows * weights.step, _BOX_ALIGNMENT
        if self.rows == _ROWS_OF_MMA:
            x_halves, alignment = _image_halves(self.rows, weights.step, weights), _STAGE_ALIGNMENT
        used = 2 * x_halves
        used += self.block_n * (weights.step * weights.nbits // 8 + scales)
        return -(-used // alignment) * alignment

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
            "IS_EVEN": int(self.is_even),
            **types.defines,
        }
        grid = (self.blocks(M, N, K // weights.step, machine.multiprocessors), 1)
        threads = (self.warps_n * self.warps_k + _BRINGERS) * WARP_SIZE
        shared = stages * (self.stage_bytes(types, weights) + _BARRIER_BYTES)
        shared += self.room_bytes + _LEFT_BYTES
        cluster = 1 if self.is_even else self.splits
        about = dict(starts_early=True, text=FastGemm.name, entry=FastGemm.entry)
        return Launch(grid, threads, shared, (M, N, K), defines, cluster=cluster, **about)


def _arrange(M, K, weights):
    """The `Launch` that makes an image of x for the blocks of 16 rows."""
    rows = _ROWS_OF_MMA
    defines = {"ROWS": rows, "TILE_K": weights.step, "PART": weights.part}
    grid = rows * K // (_NUMBERS_OF_A_THREAD * _ARRANGE_THREADS), -(-M // rows)
    about = dict(starts_early=True, text="arrange_for_mma", entry="arrange")
    return Launch(grid, _ARRANGE_THREADS, 0, (M, K), defines, **about)


def _lower(flags):
    """The `Launch` that lowers so many flags."""
    about = dict(starts_early=True, text="lower_flags", entry="lower")
    return Launch((1, 1), WARP_SIZE, 0, (flags,), **about)


def _image_halves(M, K, weights):
    """Halves in the image of x: whole blocks of rows, and a float for the sum of each part."""
    rows = -(-M // _ROWS_OF_MMA) * _ROWS_OF_MMA
    return rows * (K + 2 * (K // weights.part))
