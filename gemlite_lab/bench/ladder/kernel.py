"""`RungKernel`: a rung made by editing gemv_a16wn_fast, and called like that kernel."""

from dataclasses import dataclass

import torch

from gemlite_edu.kernels.gemv_fast import FastGemv
from gemlite_edu.kernels.plan import Plan
from gemlite_edu.runners.kernel import Kernel
from gemlite_lab.bench.ladder.idea import Shape

GROUP_SIZE = 128


@dataclass(frozen=True, kw_only=True)
class _RungSpec(FastGemv):
    """gemv_a16wn_fast, launched as a rung's `Shape` says, for one row of x made of whole tiles."""

    launched: Shape

    def plan(self, M, N, K, machine):
        """The `Plan` for y (1, N)."""
        tile, shape = self.layout(K).tile, self.launched
        if M > 1 or K % tile:
            raise ValueError(f"a rung takes one row of x, of whole tiles of {tile}, got {M} x {K}")
        usual = super().plan(M, N, K, machine).product
        warps, tiles = min(shape.warps, K // tile), -(-N // shape.rows)
        resident = tiles if shape.blocks is None else machine.multiprocessors * shape.blocks
        blocks = min(resident, tiles)
        sum_bytes = self.weights.bytes_of_a_part(self.x_dtype) * (K // GROUP_SIZE)
        x_bytes = 2 * K + sum_bytes if shape.stages_x else 0
        shared_bytes = x_bytes + -(-tiles // blocks) * 4 * shape.rows * warps
        defines = usual.defines | {"WARPS": warps, "TILES": shape.rows // 16}
        launch = usual._replace(
            grid=(blocks, 1),
            threads=32 * warps,
            shared_bytes=shared_bytes,
            defines=defines,
            starts_early=False,
        )
        return Plan((launch,))


class RungKernel(Kernel):
    """A rung for codes of `nbits`, groups of 128, and one row of fp16 x made of whole tiles.

    >>> from gemlite_lab.bench.ladder import rungs
    >>> kernel = RungKernel(rungs(4)[-1], nbits=4)
    >>> operands = kernel.pack(torch.ones(32, 128).byte(), 1.0, 0.0)
    >>> kernel(torch.ones(1, 128).half(), *operands)[0, :3]
    tensor([128., 128., 128.], dtype=torch.float16)
    """

    def __init__(self, rung, nbits):
        spec = _RungSpec(
            nbits=nbits, x_dtype=torch.float16, group_size=GROUP_SIZE, launched=rung.shape
        )
        super().__init__(spec)
        self.rung = rung
        self._program.source = rung.edited(self.source)
