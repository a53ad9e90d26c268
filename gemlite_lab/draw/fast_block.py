"""The first steps of a warp of `gemv_a16wn_fast`, whose block goes on to a second tile."""

import torch

from gemlite_edu import Window, load, quantize_linear
from gemlite_edu.kernels.machine import SIMULATED
from gemlite_lab.draw.play import play

_GROUP = 128
_N, _K = 16 * (SIMULATED.multiprocessors + 1), 2 * _GROUP
_STEPS = 54  # of the simulator: x, the first words, the next ones, one of eight products


def fast_block():
    """A player of warp 0 of block 0, from the copy of x to the products of its first step along K.

    W has 4 bits, and one tile of 16 rows more than the simulated GPU has multiprocessors.
    """
    kernel = load("gemv_a16wn_fast", nbits=4, group_size=_GROUP)
    x = torch.arange(_K).remainder(5)[None].half()
    W = torch.arange(_N * _K).remainder(7).reshape(_N, _K).float()
    q = quantize_linear(W, nbits=4, group_size=_GROUP)
    operands = kernel.pack(q.W_q, q.scales, q.zeros)
    return play(kernel.inspect(x, *operands, window=Window(steps=_STEPS)))
