"""tinygemm, the int4 kernel inside torch: aten._weight_int4pack_mm, in bf16."""

import torch

from gemlite_lab.bench.candidate import Candidate, Prepared

_INNER_K_TILES = 8
_GROUP_SIZES = (32, 64, 128, 256)


def _why_not(problem):
    weights = problem.weights
    if problem.transposed or weights.nbits != 4 or weights.group_size not in _GROUP_SIZES:
        return "4 bits, groups of 32 to 256, not transposed"
    if problem.N % 8 or problem.K % (16 * _INNER_K_TILES):
        return "N a multiple of 8, K of 128"
    return ""


def _prepare(weights, problem):
    pairs = weights.W_q[:, ::2] << 4 | weights.W_q[:, 1::2]
    packed = torch.ops.aten._convert_weight_to_int4pack(pairs, _INNER_K_TILES)
    offsets = (8 - weights.zeros) * weights.scales  # it computes (q - 8) * scale + offset
    meta = torch.stack([weights.scales, offsets], dim=-1).transpose(0, 1).bfloat16().contiguous()

    def call(x):
        return torch.ops.aten._weight_int4pack_mm(x, packed, weights.group_size, meta)

    return Prepared(call, (packed, meta))


CANDIDATES = [Candidate("tinygemm", "torch", torch.bfloat16, _why_not, _prepare)]
