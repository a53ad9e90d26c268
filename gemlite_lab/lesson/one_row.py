"""`one_row_kernel`: a whole kernel that the learner writes, for one row of x and packed weights."""

from dataclasses import dataclass

import torch

from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.gemv import PackedGemv
from gemlite_edu.kernels.holes import code_here, words_of
from gemlite_edu.kernels.plan import WARP_SIZE
from gemlite_edu.packing import WarpInterleaved
from gemlite_edu.runners.kernel import Kernel

HOLE = "gemv"
_THREADS = 1024
_WORDS = "#include <stdint.h>\n"  # has uint32_t, which the kernel for unpacked weights needs not


@dataclass(frozen=True, kw_only=True)
class OneRow(PackedGemv):
    """The operands and the launch of a GEMV that stages all of its one row of x.

    Its text is that of gemv_a16w16_shared, in which the learner's `gemv` stands in place of the
    kernel: the files that this one includes stay in scope.
    """

    text = "gemv_a16w16_shared"

    def shape(self, x, W, N):
        """(1, N, K). Raises ValueError for several rows of x."""
        M, N, K = super().shape(x, W, N)
        if M > 1:
            raise ValueError(
                f"this kernel takes one row of x, got M = {M}: call it for each x[m : m + 1]"
            )
        return M, N, K

    def plan(self, M, N, K, machine):
        """The `Plan` for y (1, N); ValueError if x is too long for a block's shared memory."""
        padded_K = self.layout(K).padded_K(K or 1)
        shared, limit = padded_K * self.x_dtype.itemsize, machine.shared_bytes_per_block
        if shared > limit:
            raise ValueError(
                f"x of K = {K}, padded to {padded_K}, takes {shared} bytes of shared memory, and a "
                f"block of compute capability {machine.named} has {limit}"
            )
        grid = (-(-N * WARP_SIZE // _THREADS), 1)
        return self._plan_of_one({}, grid, _THREADS, shared, (N, K))


def _refuse_small_bounds(text):
    """Raise KernelTextError for a kernel that promises to run in smaller blocks."""
    for code in code_here(HOLE, text):
        words = [token.text for token in code]
        for bounds, _, threads in zip(words, words[1:], words[2:], strict=False):
            if bounds == "__launch_bounds__" and threads.isdigit() and int(threads) < _THREADS:
                raise KernelTextError(
                    f"{HOLE} has __launch_bounds__({threads}), and its blocks have {_THREADS:,} "
                    "threads: no GPU starts such a block; leave the bounds out or let them be "
                    f"{_THREADS}"
                )


def one_row_kernel(text, nbits, x_dtype=torch.float16, time_limit=60.0):
    """The `Kernel` whose __global__ function is the CUDA `text`; call it like those of `load`.

    The text defines `gemv(const X_T* x, const uint32_t* W_packed, const float* scales,
    const float* zeros, X_T* y, int N, int K)`. It runs in ceil(N / 32) blocks of 32 warps, with
    dynamic shared memory for x padded to whole tiles. W is packed by `pack_warped_int32`.

    Raises KernelTextError for a text that cannot be such a kernel.
    """
    if "__global__" not in words_of(HOLE, text):
        raise KernelTextError(f"{HOLE} is a kernel: say __global__ before void {HOLE}(...)")
    _refuse_small_bounds(text)
    spec = OneRow(name="fused_gemv", make_layout=WarpInterleaved).completed(nbits, x_dtype)
    kernel = Kernel(spec, {HOLE: text}, time_limit=time_limit)
    return kernel.with_changed_source(lambda source: f"{_WORDS}{source}")
