"""A user's program, which a type checker reads: it must pass, with the errors that it ignores.

mypy reports an ignored error that is none, so each `type: ignore` proves that a hint reached it.
"""

import torch

from gemlite_edu import (
    INT4,
    NF4,
    Format,
    GemLiteLinear,
    PackedWeight,
    calibrated,
    load,
    pack_warped_int32,
    quantize_,
    quantize_linear,
    quantize_to_format,
    rules,
)
from gemlite_edu.core import DType
from gemlite_edu.helper import A16W8
from gemlite_edu.packing import WarpInterleaved


class Block(torch.nn.Module):
    """A model with a type of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(64, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.up(x)
        return y


def right() -> list[torch.Tensor]:
    """Calls as a user may write them; each returns y (1, 32)."""
    x, linear = torch.ones(1, 64), torch.nn.Linear(64, 32)
    q = quantize_linear(linear.weight, 4, group_size=32)
    packed = pack_warped_int32(q.W_q, 4)
    kernel = load("gemv_a16wn_fp32", nbits=4, group_size=32, device="auto")
    layer = GemLiteLinear(4, 32, 64, 32, DType.FP16, DType.FP16).pack(q.W_q, q.scales, q.zeros)
    ternary = Format(2, levels=[0, 1, -1, 0], group_size=32)
    model = torch.nn.Sequential(GemLiteLinear.from_linear(linear.half(), ternary))
    block = quantize_(Block().half(), INT4, quantizer="hqq" if kernel.nbits == 1 else None)
    coded = quantize_to_format(linear.weight, NF4)
    error: float = coded.error(linear.weight)
    same = block.up if error < 1 else None
    assert same is not None and layer.in_features == 64 and PackedWeight.from_quantized(q).N == 32
    rule = rules.choose(rules.Rows(1), rules.INT4_RULES)
    assert rule.most_rows and WarpInterleaved(4).locate(n=0, k=33).col == 1
    if layer.bias is not None:
        print(layer.bias.shape)
    half = x.half()
    products = [kernel(half, packed, q.scales, q.zeros), layer(half), model(half), block(half)]
    return [*products, A16W8(device="cpu").from_linear(linear)(half)]


def wrong(W: torch.Tensor, linear: torch.nn.Linear) -> None:
    """Mistakes that a type checker must report; nobody runs them."""
    quantize_linear(W, 4, group_size="128")  # type: ignore[arg-type]
    quantize_linear(W, nbit=4)  # type: ignore[call-arg]
    Format("4")  # type: ignore[arg-type]
    GemLiteLinear(4, 32, 64, 32, input_dtype=torch.float16)  # type: ignore[arg-type]
    GemLiteLinear.from_linear(linear, "NF4")  # type: ignore[arg-type]
    GemLiteLinear().pack(W, packing_bitwidth=24)  # type: ignore[arg-type]
    load("gemv_a16wn_fp32", nbits=4, device="gpu")  # type: ignore[arg-type]
    load("gemv_a16wn_fp32", nbits=4)(W.tolist(), W)  # type: ignore[arg-type]
    quantize_(W, 4)  # type: ignore[type-var]
    quantize_(linear, 4, quantizer="gptq")  # type: ignore[arg-type]
    calibrated(linear, W.shape[0])  # type: ignore[arg-type]
    print(pack_warped_int32(W, 4).rows)  # type: ignore[attr-defined]
