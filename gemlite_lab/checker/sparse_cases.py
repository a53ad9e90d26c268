"""Inputs for 1:2 sparse weights on which every wrong packer or kernel fails.

They are as in `cases`, and more: about half the pairs keep their first weight, pruned codes are not
0, a kept code may be 0 or 127, some pairs have two codes of 0, and every code is kept somewhere. A
row that ends inside a pair may keep the weight without a partner or not.
"""

from dataclasses import dataclass, replace

import torch

from gemlite_edu.numbers.quantize import quantize_linear
from gemlite_edu.packing import tiled_sparsity_50
from gemlite_lab.checker import cases
from gemlite_lab.lesson.real_layer import real_layer

NBITS = 7
TILE = 256  # weights in 32 words
_WARP_SIZE = 32


@dataclass(frozen=True)
class SparseCodesCase(cases.CodesCase):
    """Codes W_q (N, K), of which a packer packs those that kept (N, K) bool marks."""

    kept: torch.Tensor


@dataclass(frozen=True)
class SparseGemvCase(cases.GemvCase):
    """A GEMV whose weights are 0 where kept (N, K) bool is False."""

    kept: torch.Tensor
    counts_reads: bool = False  # whether the checker remarks on reads that are not needed


def fields_of(values):
    """(N, K) padded with 0 to whole tiles, as (N, tiles, 8, 32); fields 2p, 2p + 1 are pair p."""
    padded = torch.nn.functional.pad(values, (0, -values.shape[1] % TILE))
    return padded.reshape(len(values), -1, TILE // _WARP_SIZE, _WARP_SIZE)


def from_fields(fields, K):
    """The inverse of `fields_of`."""
    return fields.flatten(1)[:, :K].contiguous()


def sparse_codes(N, K, seed):
    """A `SparseCodesCase` of random codes and positions."""
    dense = cases.codes(NBITS, N, K, seed)
    W_q, kept = _with_pairs(dense.W_q, seed)
    return SparseCodesCase(f"N = {N}, K = {K}", NBITS, W_q, kept)


def real_sparse_codes():
    """A `SparseCodesCase` of a real layer, pruned and quantized per channel."""
    kept, q = _pruned_layer("attention_query")
    return SparseCodesCase("real layer (attention_query of MiniLM)", NBITS, q.W_q, kept)


def exact_sparse_gemv(N, K, seed):
    """A `SparseGemvCase` with exact inputs."""
    dense = cases.exact_gemv(NBITS, N, K, seed)
    W_q, kept = _with_pairs(dense.W_q, seed)
    label = f"M = {len(dense.x)}, N = {N}, K = {K}"
    return SparseGemvCase(**{**vars(dense), "W_q": W_q, "kept": kept, "label": label})


def fractional_sparse_gemv(N, tiles, seed):
    """A case, also exact, with fractions in x and zeros; sums inside a word need more than half.

    Two neighbouring bytes of a word are equal and meet large x that almost cancel.
    """
    case = exact_sparse_gemv(N, tiles * TILE, seed)
    W_q, kept = (_second_byte_as_the_first(values) for values in (case.W_q, case.kept))
    x = case.x.reshape(-1, tiles, 2, 2, 2, _WARP_SIZE)  # two times two bytes of two fields
    large = torch.arange(x[:, :, :, 0, 0].numel()).reshape(x[:, :, :, 0, 0].shape) * 97 % 256
    x[:, :, :, 0] += large[:, :, :, None] + 250
    x[:, :, :, 1] -= large[:, :, :, None] + 250
    label = f"{case.label}, with fractions"
    return replace(case, label=label, W_q=W_q, kept=kept, x=case.x * 0.5, zeros=case.zeros + 0.5)


def real_sparse_gemv(tokens=4):
    """A `SparseGemvCase` of a real layer, with its real activations as bfloat16."""
    kept, q = _pruned_layer("ffn_down")
    x = real_layer("ffn_down").activations[:tokens].bfloat16() * cases.BEYOND_HALF
    label = f"real layer (ffn_down of MiniLM), M = {tokens}, bfloat16"
    scales = q.scales / cases.BEYOND_HALF
    return SparseGemvCase(label, NBITS, q.W_q, scales, q.zeros, x, False, kept, True)


def _pruned_layer(name):
    W = real_layer(name).weight
    kept = tiled_sparsity_50(W)
    return kept.bool(), quantize_linear(W * kept, NBITS)


def _with_pairs(W_q, seed):
    """Codes, some of them pairs of two zeros, and which code of each pair is kept."""
    generator = torch.Generator().manual_seed(seed)
    N, K = W_q.shape
    codes = fields_of(W_q)
    first = torch.rand(codes[:, :, ::2].shape, generator=generator) < 0.5
    kept = from_fields(torch.stack([first, ~first], 3).flatten(2, 3), K)
    both_zero = torch.rand(first.shape, generator=generator) < 1 / 16
    W_q = from_fields(codes * ~both_zero.repeat_interleave(2, dim=2), K)
    places = kept.nonzero()
    if len(places) >= 2**NBITS:
        rows, columns = places[torch.randperm(len(places), generator=generator)[: 2**NBITS]].T
        W_q[rows, columns] = torch.arange(2**NBITS, dtype=torch.uint8)
    return W_q, kept


def _second_byte_as_the_first(values):
    fields = fields_of(values).clone()
    fields[:, :, 2:4], fields[:, :, 6:8] = fields[:, :, 0:2], fields[:, :, 4:6]
    return from_fields(fields, values.shape[1])
