"""`RungKernel`: a rung that is an edit of gemv_a16wn_fast, called like that."""

import torch

from gemlite_edu.kernels.gemv import Launch
from gemlite_edu.runners.fast_kernel import FastKernel, machine_of

GROUP_SIZE = 128


class RungKernel(FastKernel):
    """A rung for `nbits` codes, groups of 128, and one row of fp16 x of whole tiles.

    >>> from gemlite_lab.bench.ladder import rungs
    >>> kernel = RungKernel(rungs(4)[-1], nbits=4)
    >>> operands = kernel.pack(torch.ones(32, 128).byte(), 1.0, 0.0)
    >>> kernel(torch.ones(1, 128).half(), *operands)[0, :3]
    tensor([128., 128., 128.], dtype=torch.float16)
    """

    def __init__(self, rung, nbits):
        super().__init__(rung.kernel, nbits, torch.float16, None, "auto", 60.0, GROUP_SIZE)
        self.rung = rung
        self.source = self._text.source = rung.edited(self.source)

    def _plan(self, M, N, K, device):
        """Launched as its `Shape` says."""
        tile, shape = self.layout(K).tile, self.rung.shape
        if M > 1 or K % tile:
            raise ValueError(f"a rung takes one row of x, of whole tiles of {tile}, got {M} x {K}")
        usual = super()._plan(M, N, K, device)
        warps, tiles = min(shape.warps, K // tile), -(-N // shape.rows)
        resident = tiles if shape.blocks is None else machine_of(device)[1] * shape.blocks
        blocks = min(resident, tiles)
        sum_bytes = self._weights.bytes_of_a_part(self.x_dtype) * (K // GROUP_SIZE)
        x_bytes = 2 * K + sum_bytes if shape.stages_x else 0
        shared_bytes = x_bytes + -(-tiles // blocks) * 4 * shape.rows * warps
        defines = usual.defines | {"WARPS": warps, "TILES": shape.rows // 16}
        return Launch(defines, (blocks, 1), 32 * warps, shared_bytes, usual.integers)
