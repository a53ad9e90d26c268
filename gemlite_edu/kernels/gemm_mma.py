"""Plan the GEMM that needs no Hopper: up to 64 rows share one decoding, and blocks share out K."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch

from gemlite_edu.kernels.fast_weights import Types
from gemlite_edu.kernels.gemv_fast import X_TILE, FastGemv
from gemlite_edu.kernels.machine import AMPERE
from gemlite_edu.kernels.plan import WARP_SIZE, WHOLE_ROW, Launch, Plan

MOST_ROWS = 64  # of x that share a decoding

_BLOCK_N = 128  # outputs (columns of y) per block
_ROWS = (16, 32, 48, MOST_ROWS)
_ROWS_OF_ONE_TILE = 32  # of more, a warp reads x half as often with two tiles
_STEP_OF_TWO_TILES = 128  # codes: of longer steps two tiles would have too few registers
_MOST_STAGES, _STAGE_ALIGNMENT = 4, 128
_RESERVED = 1024  # bytes of shared memory that each block takes besides its own
_MOST_SPLITS = 32
_THREADS_TO_ADD = 128

# In units of the time in which a multiprocessor that is busy takes a step. These are estimates.
_START = 2  # steps until a block is at full speed
_BLOCKS_TO_BE_BUSY = 2
_SECOND_LAUNCH = 8
_BYTES_OF_SUMS = 16384  # written and read again, by each multiprocessor


@dataclass(frozen=True, kw_only=True)
class MmaGemm(FastGemv):
    """gemm_a16wn_mma: multiplies several rows of x by the weights of gemv_a16wn_fast.

    It needs mma.sync and asynchronous copies, which GPUs have from compute capability 8.0 on.
    """

    name: str = "gemm_a16wn_mma"

    entry = "gemm"
    texts = ("gemm_a16wn_mma", "add_splits")
    on_older_gpus = "gemv_a16wn_fast"

    @property
    def text(self):
        """The name of the kernel's CUDA text in `sources`."""
        return self.name

    def plan(self, M, N, K, machine):
        """The `Plan` for y (M, N); ValueError if the machine is older than sm_80."""
        types = Types(self.x_dtype, self.y_dtype, torch.float16, torch.float16)
        return plan_mma(M, N, K + -K % X_TILE, types, self.weights, machine)


MMA_GEMM = {"gemm_a16wn_mma": MmaGemm()}


@lru_cache(maxsize=1024)
def plan_mma(M, N, K, types, weights, machine):
    """The `Plan` for y (M, N), K a multiple of X_TILE; ValueError if no launch fits."""
    if machine.capability < AMPERE:
        raise ValueError(
            "gemm_a16wn_mma needs compute capability 8.0 or more, and this GPU has "
            f"{machine.named}: use {MmaGemm.on_older_gpus}"
        )
    block = _Block.of(M, types, weights, machine)
    steps = -(-K // weights.step)
    # The rows of several blocks keep a GPU busy without that.
    most_splits = min(steps, _MOST_SPLITS) if M <= MOST_ROWS else 1
    splits = min(
        range(1, most_splits + 1),
        key=lambda splits: block.cost(M, N, steps, splits, machine.multiprocessors),
    )
    if splits == 1:
        return Plan((block.launch((M, N, K), 1, types, weights),))
    of_sums = Types(types.x, torch.float32, types.scales, types.zeros)
    product = block.launch((M, N, K), splits, of_sums, weights)
    return Plan((product, _add_splits(M, N, splits, types)), sums_shape=(splits, M, N))


class _Block(NamedTuple):
    """Rows of x, tiles of a warp, and steps that shared memory holds at once."""

    rows: int
    tiles: int
    stages: int
    stage_bytes: int
    at_once: int  # blocks that run on a multiprocessor side by side

    @classmethod
    def of(cls, M, types, weights, machine):
        """For M rows: as many in a block as share a decoding and fit into shared memory."""
        wanted = next((rows for rows in _ROWS if rows >= M), MOST_ROWS)
        for rows in (rows for rows in reversed(_ROWS) if rows <= wanted):
            has_two = rows > _ROWS_OF_ONE_TILE and weights.step <= _STEP_OF_TWO_TILES
            stage = _stage_bytes(rows, types, weights)
            for at_once, least in ((2, 3), (1, 2)):
                of_block = (machine.shared_bytes_per_block + _RESERVED) // at_once - _RESERVED
                stages = min(_MOST_STAGES, (of_block - weights.hole_bytes) // stage)
                if stages >= least:
                    return cls(rows, 2 if has_two else 1, stages, stage, at_once)
        raise ValueError(
            f"a block of compute capability {machine.named} has too little shared memory for two "
            "steps of these weights: use gemv_a16wn_fast"
        )

    @property
    def warps(self):
        """Warps per block."""
        return _BLOCK_N // (16 * self.tiles)

    def cost(self, M, N, steps, splits, multiprocessors):
        """How long the product takes if so many blocks share out K, in the units above."""
        blocks = -(-N // _BLOCK_N) * -(-M // self.rows) * splits
        turns = -(-blocks // multiprocessors)
        slowed = max(1, _BLOCKS_TO_BE_BUSY / min(turns, self.at_once))
        product = turns * (-(-steps // splits) + _START) * slowed
        if splits == 1:
            return product
        sums = 2 * 4 * splits * M * N / (multiprocessors * _BYTES_OF_SUMS)
        return product + _SECOND_LAUNCH + sums

    def launch(self, shape, splits, types, weights):
        """The `Launch` of the product."""
        M, N, _ = shape
        defines = weights.defines | {
            "GROUP_SIZE": weights.group_size or WHOLE_ROW,
            "ROWS": self.rows,
            "TILES": self.tiles,
            "WARPS": self.warps,
            "STAGES": self.stages,
            **types.defines,
        }
        grid = (-(-N // _BLOCK_N) * splits, -(-M // self.rows))
        shared = self.stages * self.stage_bytes
        about = dict(text=MmaGemm.name, entry=MmaGemm.entry)
        return Launch(grid, self.warps * WARP_SIZE, shared, (*shape, splits), defines, **about)


def _stage_bytes(rows, types, weights):
    """Bytes of the x, words, sums of x, scales and zeros of one step."""
    parts = weights.step // weights.part
    used = rows * (2 * weights.step + parts * weights.bytes_of_a_part(types.x))
    used += _BLOCK_N * weights.step * weights.nbits // 8
    used += _BLOCK_N * parts * (types.scales.itemsize + types.zeros.itemsize)
    return -(-used // _STAGE_ALIGNMENT) * _STAGE_ALIGNMENT


def _add_splits(M, N, splits, types):
    names = ("Y_T", "CHANNEL_T", "BIAS_T")
    defines = {name: types.defines[name] for name in names}
    grid = (-(-N // _THREADS_TO_ADD), M)
    about = dict(text="add_splits", entry="add_splits")
    return Launch(grid, _THREADS_TO_ADD, 0, (M, N, splits), defines, **about)
