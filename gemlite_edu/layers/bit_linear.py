"""`BitLinear`, a linear layer of ternary weights and int8 activations."""

import torch

from gemlite_edu.numbers.activations import quantize_activations_int8
from gemlite_edu.numbers.checks import check_no_grad
from gemlite_edu.numbers.quantize import quantize_ternary
from gemlite_edu.numbers.ternary_scales import ScaleConvention
from gemlite_edu.operators.ternary_op import a8w2
from gemlite_edu.packing import Bitnet2Bit, pack_bitnet_2bit
from gemlite_edu.packing.address_map import check_words

_X_DTYPES = (torch.float16, torch.bfloat16, torch.float32)


class BitLinear(torch.nn.Module):
    """y = x Wᵀ + bias with W ~ scales * (-1, 0 or 1), and x quantized to int8, token by token.

    W_packed: int32 words of `pack_bitnet_2bit`; scales: float32 (N, 1), which stay float32 in
    `.half()` of a model; bias: (N,) or None. All are buffers: the layer is frozen, and raises where
    a gradient would have to go through it. As made it is empty, for `load_state_dict`.

    Up to 8 tokens go to the GEMV, more to the GEMM on tensor cores (`choose.TERNARY_RULES`); on
    the CPU both run in the simulator.
    Source: Ma et al. 2024 (BitNet b1.58), arXiv 2402.17764, without the norm before the product.

    >>> linear = torch.nn.Linear(32, 2, bias=False)
    >>> linear.weight.data = torch.tensor([[0.5], [-0.5]]).repeat(1, 32)
    >>> BitLinear.from_linear(linear)(torch.ones(1, 32))
    tensor([[ 16., -16.]])
    """

    def __init__(self, in_features, out_features, bias=False, device=None):
        super().__init__()
        for name, size in (("in_features", in_features), ("out_features", out_features)):
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise ValueError(f"{name} must be an int of at least 1, got {size!r}")
        self.in_features, self.out_features = in_features, out_features
        words = Bitnet2Bit(in_features).packed_shape(out_features, in_features)
        empty = torch.zeros(words, dtype=torch.int32, device=device)
        self.register_buffer("W_packed", empty)
        scales = torch.zeros(out_features, 1, dtype=torch.float32, device=device)
        self.register_buffer("scales", scales)
        self.register_buffer("bias", torch.zeros(out_features, device=device) if bias else None)

    @staticmethod
    def from_linear(linear):
        """The layer for a torch.nn.Linear, whose weight becomes -1, 0 and 1 times mean |W|.

        One that was trained so, as BitNet's are, is what it should be; another loses much.
        """
        if not isinstance(linear, torch.nn.Linear):
            raise TypeError(f"from_linear takes a torch.nn.Linear, got {type(linear).__name__}")
        if linear.weight.device.type == "meta":
            raise ValueError("the weight has no numbers: it is on meta")
        q = quantize_ternary(linear.weight)
        return BitLinear.from_packed(
            pack_bitnet_2bit(q.W_q), q.scales, *linear.weight.shape[::-1], linear.bias
        )

    @staticmethod
    def from_packed(
        W_packed,
        ws,
        in_features,
        out_features,
        bias=None,
        convention=ScaleConvention.MULTIPLY,
    ):
        """The layer for words in BitNet's order and the weights' factors.

        ws: floating-point, of one element, (N,) or (N, 1), with the meaning that `convention` says.
        BitNet's words are int8 (N, K / 4): `W.view(torch.int32)` are these; BitMedViT's orders
        become it by `from_fragments`.
        """
        check_words(W_packed, Bitnet2Bit(in_features), in_features, out_features)
        if not isinstance(convention, ScaleConvention):
            raise TypeError(f"convention must be a ScaleConvention, got {convention!r}")
        scales = convention.scales(ws).detach()
        if scales.numel() not in (1, out_features):
            raise ValueError(
                f"ws must have one element or one for each of {out_features} outputs, "
                f"got {tuple(ws.shape)}"
            )
        layer = BitLinear(in_features, out_features, device=W_packed.device)
        layer.W_packed = W_packed.detach().clone()
        layer.scales = scales.to(W_packed.device).reshape(-1, 1).expand(out_features, 1).clone()
        if bias is not None:
            _check_bias(bias, out_features)
            layer.bias = bias.detach().to(W_packed.device, copy=True)
        return layer

    def forward(self, x):
        """y (..., N), the type of x, for x (..., K), fp16, bf16 or fp32."""
        self._check(x)
        x_q, token_scales = quantize_activations_int8(x)
        rows = x_q.reshape(-1, self.in_features)
        y = a8w2(rows, self.W_packed, self.scales, token_scales, self.out_features, x.dtype)
        y = y if self.bias is None else y + self.bias.to(y.dtype)
        return y.reshape(*x.shape[:-1], self.out_features)

    def _check(self, x):
        if not isinstance(x, torch.Tensor) or x.dtype not in _X_DTYPES:
            came = x.dtype if isinstance(x, torch.Tensor) else type(x).__name__
            raise TypeError(f"x must be a tensor, fp16, bf16 or fp32, got {came}")
        if x.layout != torch.strided:
            raise TypeError(f"x must be a dense tensor, got {x.layout}")
        if x.dim() == 0 or x.shape[-1] != self.in_features:
            raise ValueError(f"x must be (..., {self.in_features}), got {tuple(x.shape)}")
        if x.device != self.W_packed.device:
            raise ValueError(
                f"x is on {x.device} and the layer on {self.W_packed.device}: move one to the other"
            )
        for name, tensor in (("x", x), ("scales", self.scales), ("bias", self.bias)):
            if tensor is not None:
                check_no_grad(name, tensor)

    def _apply(self, fn, recurse=True):
        """Move, but keep the scales in float32: fp16 has no room for small ones."""
        exact = self.scales
        super()._apply(fn, recurse)
        if self.scales.dtype != torch.float32:
            self.scales = exact.to(self.scales.device)
        return self

    def extra_repr(self):
        """Sizes, and whether there is a bias."""
        bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={bias}"


def _check_bias(bias, out_features):
    is_real = isinstance(bias, torch.Tensor) and bias.is_floating_point()
    if not is_real or tuple(bias.shape) != (out_features,):
        is_tensor = isinstance(bias, torch.Tensor)
        came = f"{bias.dtype} {tuple(bias.shape)}" if is_tensor else type(bias).__name__
        raise ValueError(f"bias must be a floating-point tensor ({out_features},), got {came}")
