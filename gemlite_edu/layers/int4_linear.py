"""`Int4Linear`, a linear layer with frozen int4 weights that passes gradients back to x."""

from collections.abc import Mapping
from typing import Any

import torch

from gemlite_edu.layers.frozen import FrozenLayer
from gemlite_edu.layers.importers import HqqLinear, codes_of_hqq
from gemlite_edu.numbers.checks import FLOATS, check_bias, check_no_tangent, check_together
from gemlite_edu.numbers.quantize import QuantizedWeight, quantize_linear
from gemlite_edu.operators.int4_weight import Int4Weight
from gemlite_edu.operators.mixed_mm import kernels_take, product
from gemlite_edu.packing import pack_2xint4

_X_DTYPES = (*FLOATS, torch.float64)


@torch.library.custom_op("gemlite_edu::mixed_mm", mutates_args=())
def mixed_mm(
    x: torch.Tensor,
    packed: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor,
    group_size: int,
    transposed: bool,
) -> torch.Tensor:
    """x (M, K) times W^T, or x (M, N) times W if `transposed`; operands as for `triton_mixed_mm`.

    The Triton kernels compute it for fp16 and bf16 x on a GPU, and `reference` everywhere else.
    """
    weight = Int4Weight(packed, scales, zeros, group_size)
    if x.is_cuda and kernels_take(x.device, x.dtype):
        return product(x, weight, transposed)
    return reference(x, weight, transposed)


@mixed_mm.register_fake
def _(
    x: torch.Tensor,
    packed: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor,
    group_size: int,
    transposed: bool,
) -> torch.Tensor:
    columns = 2 * packed.shape[0] if transposed else packed.shape[1]
    return x.new_empty((x.shape[0], columns))


def _remember_the_weight(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    _, packed, scales, zeros, ctx.group_size, ctx.transposed = inputs
    if any(ctx.needs_input_grad[1:4]):
        raise ValueError("int4 weights are frozen: their scales and zeros cannot require grad")
    ctx.save_for_backward(packed, scales, zeros)


def _other_direction(
    ctx: Any, grad: torch.Tensor
) -> tuple[torch.Tensor, None, None, None, None, None]:
    """The backward: y = x W^T gives dx = dy W, the other direction; again, d(dy) = d(dx) W^T."""
    dx = mixed_mm(grad, *ctx.saved_tensors, ctx.group_size, not ctx.transposed)
    return dx, None, None, None, None, None


mixed_mm.register_autograd(_other_direction, setup_context=_remember_the_weight)


def reference(x: torch.Tensor, weight: Int4Weight, transposed: bool) -> torch.Tensor:
    """The product in plain torch for any float x, computed in fp64 for fp64 x and else in fp32."""
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    W = weight.dequantize(dtype)
    with torch.autocast(x.device.type, enabled=False):
        return (x.to(dtype) @ (W if transposed else W.T)).to(x.dtype)


class Int4Linear(FrozenLayer):
    """y = x Wᵀ + bias with frozen 4-bit W ~ (codes - zeros) * scales; x receives a gradient.

    packed: bytes (K / 2, N) from `pack_2xint4`; scales, zeros: (K / group_size, N), fp16, bf16 or
    fp32; bias: (N,) or None. All are buffers, so no optimizer receives them, and `.half()` on a
    model does not change the dtypes of scales and zeros.

    The backward product needs only the weights, so the layer keeps no activations. On a GPU,
    `choose.INT4_RULES` decide how to multiply fp16 and bf16 x, and the gradient: the fused Triton
    kernels take few rows, torch with weights dequantized for the call takes many. For fp32 and fp64
    x, and on the CPU, torch multiplies by weights dequantized in each call. Autocast converts x to
    its dtype, unless x is fp64.

    >>> layer = Int4Linear.from_linear(torch.nn.Linear(8, 3), group_size=4)
    >>> x = torch.ones(2, 8, requires_grad=True)
    >>> layer(x).sum().backward()
    >>> x.grad.shape
    torch.Size([2, 8])
    """

    packed: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    bias: torch.Tensor | None

    def __init__(
        self,
        packed: torch.Tensor,
        scales: torch.Tensor,
        zeros: torch.Tensor,
        group_size: int,
        bias: torch.Tensor | None = None,
    ) -> None:
        super().__init__()
        weight = Int4Weight(packed, scales, zeros, group_size)
        if bias is not None:
            check_bias(bias, weight.N, _X_DTYPES)
            check_together("bias", bias.device, "packed", packed.device)
        self.in_features, self.out_features, self.group_size = weight.K, weight.N, group_size
        self.register_buffer("packed", _own(packed.T))
        self.register_buffer("scales", _own(scales))
        self.register_buffer("zeros", _own(zeros))
        self.register_buffer("bias", None if bias is None else _own(bias))

    @staticmethod
    def from_quantized(
        q: QuantizedWeight, bias: torch.Tensor | None = None, dtype: torch.dtype = torch.float32
    ) -> "Int4Linear":
        """Make the layer from a 4-bit `QuantizedWeight`, with scales and zeros cast to `dtype`."""
        if not isinstance(q, QuantizedWeight):
            raise TypeError(f"from_quantized takes a QuantizedWeight, got {type(q).__name__}")
        weight = Int4Weight.from_quantized(q, dtype)
        return Int4Linear(weight.packed, weight.scales, weight.zeros, q.group_size, bias)

    @staticmethod
    def from_linear(linear: torch.nn.Linear, group_size: int | None = None) -> "Int4Linear":
        """Quantize a torch.nn.Linear with `quantize_linear`, which defines group_size.

        Scales and zeros have the dtype of the weight if it has 16 bits, and else fp32.
        """
        if not isinstance(linear, torch.nn.Linear):
            raise TypeError(f"from_linear takes a torch.nn.Linear, got {type(linear).__name__}")
        W = linear.weight
        if W.device.type == "meta":
            raise ValueError("the weight has no numbers: it is on meta")
        dtype = W.dtype if W.dtype.itemsize == 2 else torch.float32
        return Int4Linear.from_quantized(quantize_linear(W, 4, group_size), linear.bias, dtype)

    @staticmethod
    def from_hqqlinear(hqq_linear: HqqLinear) -> "Int4Linear":
        """Make the layer from the codes, scales and zeros of a 4-bit HQQLinear."""
        W_q, scales, zeros, nbits, group_size = codes_of_hqq(hqq_linear)
        if nbits != 4:
            raise ValueError(f"the HQQ layer has {nbits} bits: quantize it with nbits=4")
        bias = getattr(hqq_linear, "bias", None)
        return Int4Linear(pack_2xint4(W_q.T), scales.T, zeros.T, group_size, bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """y (..., N) for x (..., K), fp16, bf16, fp32 or fp64."""
        self._check_x(x, self.packed, _X_DTYPES)
        check_no_tangent("x", x)
        device = x.device.type
        if device != "meta" and torch.is_autocast_enabled(device):
            x = x if x.dtype == torch.float64 else x.to(torch.get_autocast_dtype(device))
        rows = x.reshape(-1, self.in_features)
        y = mixed_mm(rows, self.packed.T, self.scales, self.zeros, self.group_size, False)
        y = y if self.bias is None else y + self.bias.to(y.dtype)
        return y.reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        """The sizes, the group size, and whether codes are signed (s4) or unsigned (u4)."""
        codes = "s4" if self.packed.dtype == torch.int8 else "u4"
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, group_size={self.group_size}, {codes}, bias={self.bias is not None}"

    def _load_from_state_dict(
        self,
        state: Mapping[str, Any],
        prefix: str,
        about: dict[str, Any],
        strict: bool,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        """Refuse bytes of the other dtype: they mean other codes, but torch would cast them."""
        saved = state.get(prefix + "packed")
        if isinstance(saved, torch.Tensor) and saved.dtype != self.packed.dtype:
            errors.append(f"{prefix}packed: it has {self.packed.dtype}, and the file {saved.dtype}")
            return
        super()._load_from_state_dict(state, prefix, about, strict, missing, unexpected, errors)


def _own(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone(memory_format=torch.contiguous_format)
