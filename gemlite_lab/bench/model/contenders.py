"""The contenders: what each makes of a linear layer's codes; a file of peers' own imports."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from gemlite_edu.layers.gemlite_linear import GemLiteLinear
from gemlite_edu.numbers.quantize import QuantizedWeight
from gemlite_lab.bench.candidate import Prepared, find_candidates
from gemlite_lab.bench.model.weights import GROUP_SIZE
from gemlite_lab.bench.problem import Problem, WeightFormat

NBITS = 4
CODED = WeightFormat(NBITS, GROUP_SIZE)


@dataclass(frozen=True)
class Contender:
    """Linear layers of one library.

    of: the kernel of `make bench` that has the same package, and for ours the same version.
    layer(q): from a `CodedWeight`, a `Prepared` whose call is a torch.nn.Module.
    dtype: of the whole model. weights: the format in memory.
    """

    name: str
    of: str
    layer: Callable
    dtype: torch.dtype = torch.float16
    weights: WeightFormat = CODED

    def version(self):
        """The version of its package, for ours with a hash of the kernels; "" if not installed."""
        return find_candidates()[self.of].version()

    def why_not(self):
        """ "", or one sentence if it cannot be measured here."""
        if self.version():
            return ""
        package = find_candidates()[self.of].package
        return f"{self.name} is left out: {package} is not installed (the extra `peers` has it)"


class Rows(nn.Module):
    """A layer for x (M, K) that takes x (..., K)."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x.flatten(0, -2)).unflatten(0, x.shape[:-1])


def _fp16(q):
    """The dense weights that the codes stand for, exactly."""
    N, K = q.codes.shape
    linear = nn.Linear(K, N, bias=False, device="meta")
    linear.weight = nn.Parameter(q.dequantize(torch.float16), requires_grad=False)
    return Prepared(linear, (linear.weight,))


def _ours(q):
    layer = GemLiteLinear.from_coded(q)
    return Prepared(layer, tuple(layer.parameters()))


def _torchao(q):
    """torchao's int4 weight in the layout of tinygemm, as `Int4WeightOnlyConfig` makes it."""
    from torchao.quantization import Int4TilePackedTo4dTensor

    N, K = q.codes.shape
    tinygemm = find_candidates()["tinygemm"].prepare(_quantized(q), Problem(CODED, 1, N, K))
    weight = Int4TilePackedTo4dTensor(*tinygemm.reads, [1, GROUP_SIZE], torch.Size((N, K)))
    linear = nn.Linear(K, N, bias=False, device="meta")
    linear.weight = nn.Parameter(weight, requires_grad=False)
    return Prepared(linear, tinygemm.reads)


def _gemlite(q):
    return find_candidates()["gemlite"].prepare(_quantized(q), Problem(CODED, 1, *q.codes.shape))


def _humming(q):
    made = find_candidates()["humming"].prepare(_quantized(q), Problem(CODED, 1, *q.codes.shape))
    return Prepared(Rows(made.call), made.reads)


def _quantized(q):
    return QuantizedWeight(q.codes, q.scales.float(), q.zeros, NBITS, GROUP_SIZE)


CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender("fp16", "cublas", _fp16, weights=WeightFormat(16)),
        Contender("ours", "gemlite_linear", _ours),
        Contender("torchao", "torchao", _torchao, torch.bfloat16),
        Contender("gemlite", "gemlite", _gemlite),
        Contender("humming", "humming", _humming),
    )
}
