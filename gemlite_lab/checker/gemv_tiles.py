"""A low-bit GEMV seen as (rows, tiles, fields, lanes), to work out what a wrong kernel gives."""

from dataclasses import dataclass

import torch

from gemlite_edu.packing import WarpInterleaved, pack_warped_int32
from gemlite_lab.checker.cases import GemvCase


def unrounded(values):
    """`values`, as an fp32 kernel holds them."""
    return values


@dataclass(frozen=True)
class Tiles:
    """A case's codes, words and x, as gemv_a16wn_fp32 meets them."""

    case: GemvCase
    codes: torch.Tensor  # (N, T, P, 32)
    words: torch.Tensor  # (N, T, 1, 32), unsigned
    x: torch.Tensor  # (M, T, P, 32)
    zeros: torch.Tensor  # (N, 1, 1, 1)

    @classmethod
    def of(cls, case):
        layout = WarpInterleaved(case.nbits)
        (N, K), M = case.W_q.shape, len(case.x)
        pad = (0, layout.padded_K(K) - K)
        shape = (-1, layout.pack_factor, 32)
        words = pack_warped_int32(case.W_q, case.nbits).long() & 0xFFFFFFFF
        return cls(
            case,
            torch.nn.functional.pad(case.W_q.double(), pad).reshape(N, *shape),
            words.reshape(N, -1, 1, 32),
            torch.nn.functional.pad(case.x.double(), pad).reshape(M, *shape),
            case.zeros.double().reshape(N, 1, 1, 1),
        )

    def output(self, values, x=None, rounded=unrounded, product_rounded=unrounded):
        """y (M, N) float16 of dequantized values and x, both (…, T, P, 32).

        In fp32 and in the kernel's order, so that what fp32 cannot hold is lost as it is there.
        rounded: done to a word's sum after each addition; product_rounded: to each product and
        to the value in it.
        """
        values, x = product_rounded(values.float()), (self.x if x is None else x).float()
        lanes = torch.zeros(len(x), len(values), 32)
        for t in range(values.shape[1]):
            word = torch.zeros_like(lanes)
            for j in range(values.shape[2]):
                word = rounded(word + product_rounded(values[:, t, j] * x[:, None, t, j]))
            lanes += word
        for offset in (16, 8, 4, 2, 1):
            lanes = lanes[..., :offset] + lanes[..., offset:]
        return (lanes[..., 0] * self.case.scales.T).half()

    def read(self, mask=None, shift=None, nbits=None, words=None):
        """Fields of the words, or of other words, with another mask, width, or shift(j)."""
        nbits = nbits or self.case.nbits
        shift = shift or (lambda j: 32 - nbits * (j + 1))
        shifts = torch.tensor([shift(j) for j in range(32 // nbits)]).view(-1, 1)
        words = self.words if words is None else words
        return ((words >> shifts) & (2**nbits - 1 if mask is None else mask)).double()

    def x_at(self, distance):
        """x as met when field j reads x[j * distance] instead of x[j * 32]."""
        M, tiles, fields, _ = self.x.shape
        lane, field = torch.arange(32), torch.arange(fields).view(-1, 1)
        return self.x.reshape(M, tiles, -1)[:, :, lane + field * distance]
