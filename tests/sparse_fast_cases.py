"""Cases of `fast_cases` for 1:2 sparse weights of 7 bits."""

from dataclasses import dataclass, replace

import torch
from fast_cases import (
    BF16,
    EXACT,
    EXTREMES,
    FACTORS,
    FACTORS_ON_A_GPU,
    FP16,
    LITTLE_MEMORY,
    PLAIN,
    RANDOM,
    Case,
    Inputs,
    pairwise,
)

from gemlite_edu import load
from gemlite_edu.numbers.bounds import tensor_core_error_bound
from gemlite_edu.numbers.reference import matmul
from gemlite_edu.packing import tiled_sparsity_50

SPARSE = "gemv_a16w7_sparse_fast"


@dataclass(frozen=True)
class SparseCase(Case):
    """A `Case` in which one weight of each pair is kept."""

    nbits: int = 7
    M: int = 3
    N: int = 21
    least_K: int = 300

    def load(self, **options):
        """The kernel of this case."""
        return load(SPARSE, x_dtype=self.x_dtype, group_size=self.group_size, **options)

    def inputs(self, x, W_q, scales, zeros):
        """The `SparseInputs` of these tensors."""
        generator = torch.Generator().manual_seed(self.N)
        kept = tiled_sparsity_50(torch.rand(W_q.shape, generator=generator)).bool()
        return SparseInputs(x, W_q, scales, zeros, kept)

    def error_bound(self, product):
        """Largest error of an honest kernel: (M, N) float64.

        Weights are made in units of 2**-9, so that small zeros and small weights lose up to 2**-16
        each; of bf16 x as fp16 up to 2**-39 of the largest is lost: see `parts_error_bound`.
        """
        codes, zeros, scales = product.parts
        x, W = product.x.double().abs(), ((codes - zeros) * scales).abs()
        bound = tensor_core_error_bound(product, self.x_dtype, compute_dtype=FP16)
        bound += matmul(x, 2.0**-15 * scales.abs())
        lost = 2.0**-39 * x.amax(1, keepdim=True).expand_as(x)
        return bound + matmul(lost, W) if self.x_dtype == BF16 else bound


@dataclass(frozen=True)
class SparseInputs(Inputs):
    """kept: (N, K) bool, true at one of each pair."""

    kept: torch.Tensor

    def to_pack(self):
        """What `pack` takes."""
        return self.W_q, self.kept, self.scales, self.zeros

    def product(self, case):
        """The `ScaledProduct`, with code and zero 0 for every weight that is not kept."""
        product = super().product(case)
        return replace(product, codes=self.W_q * self.kept, zeros=product.zeros * self.kept)


SPARSE_FACTORS = FACTORS | {"nbits": [7], "group_size": [None, 64, 128, 512]}
_ON_A_GPU = FACTORS_ON_A_GPU | {key: SPARSE_FACTORS[key] for key in ("nbits", "group_size")}


def all_cases(factors, seed=0):
    """Every case; another seed combines the values otherwise."""
    cases = [SparseCase(**row) for row in pairwise(factors, seed)]
    return [
        *cases,
        SparseCase(M=2, N=40, least_K=1600, group_size=512),
        SparseCase(x_dtype=BF16, data=RANDOM),
        SparseCase(M=8, N=100, least_K=3000, machine=LITTLE_MEMORY),
    ]


CASES = all_cases(SPARSE_FACTORS, seed=887)  # of many seeds, it needs the fewest libraries


def cases_for_a_gpu():
    """Each build with several numbers, shapes and places in memory."""
    for case in all_cases(_ON_A_GPU) + all_cases(_ON_A_GPU, seed=1):
        yield case
        for data in (EXACT, RANDOM, EXTREMES):
            yield replace(case, N=case.N + 5, data=data, memory=PLAIN)
