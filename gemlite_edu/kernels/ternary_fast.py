"""Plan the GEMM of ternary weights for Hopper: cut y into tiles that keep the whole GPU busy."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gemlite_edu.kernels.machine import HOPPER, shared_bytes_per_block
from gemlite_edu.kernels.plan import WARP_SIZE, Launch, Plan
from gemlite_edu.kernels.ternary import Y_TYPES, Ternary
from gemlite_edu.packing.bitnet_2bit import TILE_K

# int32 holds the sums of 64 times the weights: |code - 2| is at most 2, |x| at most 128.
LONGEST_K = 2**31 // (64 * 256) - TILE_K

_MOST_STAGES, _STAGE_ALIGNMENT = 8, 128
_STAGES_IN_USE = 2  # the steps that are multiplied; copies fill the other stages
_RESERVED = 1024  # bytes of shared memory that each block takes besides its own
_SHARED_BYTES = shared_bytes_per_block(HOPPER) + _RESERVED  # of a multiprocessor, for all blocks
_SPLITS = (1, 2, 4, 8)

# {tokens of a tile: ((warpgroups, tiles of 64 outputs of each, codes of a step), ...)}. Others were
# timed on an H200, and of each problem the fastest is among these, or nearly.
_FEW_TOKENS = ((1, 1, 256), (2, 1, 256))
_SHAPES = {
    16: _FEW_TOKENS,
    32: _FEW_TOKENS,
    64: ((1, 1, 128), (2, 2, 128)),
    128: ((2, 1, 128), (2, 2, 128)),
}

# Times of one multiprocessor of an H200, in nanoseconds, fitted to measured times of these cuts.
_PRODUCTS = 10_400  # products in a nanosecond, where a code counts as
_TOKENS_OF_A_CODE = 61  # so many more tokens, because it must be copied and decoded
_STEP = 55  # a block's step, besides its products
_CODE = 2.0  # a block takes at least so long for each code of a step, all outputs side by side
_COPY = 1730  # from the request of a step's copies to their arrival
_START = 2330  # the beginning and the end of a block
_SUMS = 6.4  # sums that are scaled and written in a nanosecond


@dataclass(frozen=True, kw_only=True)
class FastTernaryGemm(Ternary):
    """gemm_a8w2_fast: weights go from registers to wgmma, which finds x in shared memory itself."""

    name: str = "gemm_a8w2_fast"

    entry = "gemm"

    def plan(self, M, N, K, machine):
        """The `Plan` for y (M, N); K is whole tiles. ValueError for other GPUs and a longer K."""
        return plan_fast(M, N, K, self.y_dtype, machine)


FAST_TERNARY = {"gemm_a8w2_fast": FastTernaryGemm()}


@lru_cache(maxsize=1024)
def plan_fast(M, N, K, y_dtype, machine):
    """The `Plan` for y (M, N) of `y_dtype`; ValueError if the kernel cannot compute it."""
    if machine.capability != HOPPER:
        raise ValueError(
            "gemm_a8w2_fast needs compute capability 9.0, and this GPU has "
            f"{machine.named}: use gemm_a8w2_wmma"
        )
    if K > LONGEST_K:
        raise ValueError(
            f"gemm_a8w2_fast takes K up to {LONGEST_K}, so that 64 times a sum fits into int32, "
            f"got {K}: use gemm_a8w2_wmma"
        )
    cut = min(
        _cuts(M, K, machine.largest_cluster),
        key=lambda cut: cut.cost(M, N, K, machine.multiprocessors),
    )
    return Plan((cut.launch(M, N, K, y_dtype),))


def _cuts(M, K, largest_cluster):
    """Every `_Cut` for M tokens; each of its blocks has a step along K to do."""
    for tokens in _tokens(M):
        for shape in _SHAPES[tokens]:
            for splits in _SPLITS:
                cut = _Cut(tokens, *shape, splits)
                if splits <= min(largest_cluster, cut.steps(K)):
                    yield cut


def _tokens(M):
    """Tokens that a tile may have: half as many as there are, and up to twice as many."""
    fewest = min(_SHAPES)
    return tuple(tokens for tokens in _SHAPES if tokens == fewest or tokens < 2 * M)


class _Cut(NamedTuple):
    """Tokens of a tile of y, how its outputs are divided, and how K is.

    warpgroups: of a block; each has `tiles` times 64 outputs. block_k: codes of a step along K.
    splits: blocks that share out the steps of a tile.
    """

    tokens: int
    warpgroups: int
    tiles: int
    block_k: int
    splits: int

    @property
    def outputs(self):
        """Outputs of a tile of y."""
        return 64 * self.tiles * self.warpgroups

    @property
    def stage_bytes(self):
        """Bytes of the x and the words of a step: the text's Stage."""
        used = self.block_k * (self.tokens + 1) + self.outputs * self.block_k // 4
        return -(-used // _STAGE_ALIGNMENT) * _STAGE_ALIGNMENT

    @property
    def stages(self):
        """Steps of a block that shared memory holds at once."""
        blocks = 2 if self.tiles == 1 else 1  # more tiles leave no registers for a second block
        return min(_MOST_STAGES, (_SHARED_BYTES // blocks - _RESERVED) // self.stage_bytes)

    @property
    def shared_bytes(self):
        """Bytes of the stages, or of the text's Room, which takes their place."""
        return max(self.stages * self.stage_bytes, 4 * self.tokens * (self.outputs + 4))

    @property
    def at_once(self):
        """Blocks that run on a multiprocessor side by side."""
        return _SHARED_BYTES // (self.shared_bytes + _RESERVED)

    def steps(self, K):
        """Steps along K of a tile."""
        return -(-K // self.block_k)

    def grid(self, M, N):
        """Blocks along the outputs of all tiles, and along their tokens."""
        return -(-N // self.outputs) * self.splits, -(-M // self.tokens)

    def cost(self, M, N, K, multiprocessors):
        """An estimate of the nanoseconds on an H200, to compare cuts."""
        columns, rows = self.grid(M, N)
        # Clusters of 4 and more lie within one GPC, which leaves some multiprocessors idle.
        usable = multiprocessors if self.splits <= 2 else max(multiprocessors * 10 // 11, 1)
        turns, left = divmod(-(-columns * rows // usable), self.at_once)
        steps = -(-self.steps(K) // self.splits)
        return turns * self._turn(steps, self.at_once) + (self._turn(steps, left) if left else 0)

    def _turn(self, steps, blocks):
        """Nanoseconds of so many blocks that share a multiprocessor, each with these steps.

        Of a step's products, its other work and its copies, the slowest hides the others.
        """
        size, tokens = self.outputs * self.tokens, self.tokens + _TOKENS_OF_A_CODE
        products = blocks * (self.outputs * tokens * self.block_k / _PRODUCTS + _STEP)
        copies = _COPY / (self.stages - _STAGES_IN_USE)
        step = max(products, _CODE * self.block_k, copies)
        return steps * step + blocks * size / _SUMS + _START

    def launch(self, M, N, K, y_dtype):
        """The `Launch` for y (M, N)."""
        defines = {
            "Y_T": Y_TYPES[y_dtype],
            "TOKENS": self.tokens,
            "WARPGROUPS": self.warpgroups,
            "TILES": self.tiles,
            "BLOCK_K": self.block_k,
            "STAGES": self.stages,
            "SPLITS": self.splits,
        }
        about = dict(
            cluster=self.splits,
            starts_early=True,
            text=FastTernaryGemm.name,
            entry=FastTernaryGemm.entry,
        )
        threads = self.warpgroups * 4 * WARP_SIZE
        return Launch(self.grid(M, N), threads, self.shared_bytes, (M, N, K), defines, **about)
