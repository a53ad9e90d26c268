"""A group-wise GEMV seen as tiles, codes of a word, and lanes, for models of wrong kernels."""

from dataclasses import dataclass

import torch

from gemlite_edu.kernels.plan import codes_per_group
from gemlite_edu.packing import WarpInterleaved
from gemlite_lab.checker.grouped_cases import GroupedCase

WARP_SIZE = 32


@dataclass(frozen=True)
class Words:
    """A case as gemv_a16wn_fp32 meets it, by tile, code of a word, and lane."""

    case: GroupedCase
    tile: torch.Tensor  # (T, 1, 1)
    j: torch.Tensor  # (1, P, 1)
    lane: torch.Tensor  # (1, 1, 32)
    codes: torch.Tensor  # (N, T, P, 32)
    x: torch.Tensor  # (M, T, P, 32)

    @classmethod
    def of(cls, case):
        layout = WarpInterleaved(case.nbits)
        (N, K), M = case.W_q.shape, len(case.x)
        pad = (0, layout.padded_K(K) - K)
        shape = (-1, layout.pack_factor, WARP_SIZE)
        codes = torch.nn.functional.pad(case.W_q.double(), pad).reshape(N, *shape)
        return cls(
            case,
            torch.arange(codes.shape[1]).view(-1, 1, 1),
            torch.arange(layout.pack_factor).view(1, -1, 1),
            torch.arange(WARP_SIZE).view(1, 1, -1),
            codes,
            torch.nn.functional.pad(case.x.double(), pad).reshape(M, *shape),
        )

    @property
    def pack_factor(self):
        return self.codes.shape[2]

    @property
    def tile_size(self):
        return WARP_SIZE * self.pack_factor

    @property
    def codes_per_group(self):
        return codes_per_group(WarpInterleaved(self.case.nbits), self.case.group_size)

    @property
    def first_k(self):
        """k of the first code of each word."""
        return self.tile * self.tile_size + self.lane

    @property
    def k(self):
        return self.first_k + self.j * WARP_SIZE

    def in_groups(self, k):
        """The group of each k, as scaled_dot has it."""
        return k // self.case.group_size

    def scales(self, groups=None):
        return self._per_code(self.case.scales, groups)

    def zeros(self, groups=None):
        return self._per_code(self.case.zeros, groups)

    def _per_code(self, tensor, groups):
        """(N, T, P, 32) of a tensor (N, groups); groups past the last are the last."""
        groups = self.in_groups(self.k) if groups is None else groups
        groups = groups.expand(self.codes.shape[1:]).clamp(0, tensor.shape[1] - 1)
        return tensor.double()[:, groups]

    def output(self, weights, x=None):
        """y (M, N) float16 of weights and the x they meet, both (..., T, P, 32)."""
        x = self.x if x is None else x
        return (x.flatten(1) @ weights.flatten(1).T).half()
