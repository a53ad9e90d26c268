"""`BitLinear`, a linear layer with ternary weights and int8 activations."""

import torch

from gemlite_edu.layers.frozen import FrozenLayer
from gemlite_edu.numbers.activations import quantize_activations_int8
from gemlite_edu.numbers.checks import FLOATS, check_bias, check_no_grad, check_size
from gemlite_edu.numbers.quantize import quantize_ternary
from gemlite_edu.numbers.ternary_scales import ScaleConvention
from gemlite_edu.operators.ternary_op import a8w2
from gemlite_edu.packing import Bitnet2Bit, pack_bitnet_2bit
from gemlite_edu.packing.address_map import check_words


class BitLinear(FrozenLayer):
    """y = x Wᵀ + bias, where W ~ scales * (-1, 0 or 1) and each token of x is quantized to int8.

    W_packed: int32 words from `pack_bitnet_2bit`; scales: float32 (N, 1); bias: (N,) or None.
    All three are buffers that keep their dtypes when a model calls `.half()`. The layer is frozen:
    it raises where a gradient would have to pass through it. A new layer is empty until
    `load_state_dict` fills it.

    The GEMV takes up to 8 tokens, a tensor-core GEMM takes more (`choose.TERNARY_RULES`); on the
    CPU all of them run in the simulator.
    Source: Ma et al. 2024 (BitNet b1.58), arXiv 2402.17764, without the norm before the product.

    >>> linear = torch.nn.Linear(32, 2, bias=False)
    >>> linear.weight.data = torch.tensor([[0.5], [-0.5]]).repeat(1, 32)
    >>> BitLinear.from_linear(linear)(torch.ones(1, 32))
    tensor([[ 16., -16.]])
    """

    W_packed: torch.Tensor
    scales: torch.Tensor
    bias: torch.Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = False,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        check_size("in_features", in_features)
        check_size("out_features", out_features)
        self.in_features, self.out_features = in_features, out_features
        words = Bitnet2Bit(in_features).packed_shape(out_features, in_features)
        empty = torch.zeros(words, dtype=torch.int32, device=device)
        self.register_buffer("W_packed", empty)
        scales = torch.zeros(out_features, 1, dtype=torch.float32, device=device)
        self.register_buffer("scales", scales)
        self.register_buffer("bias", torch.zeros(out_features, device=device) if bias else None)

    @staticmethod
    def from_linear(linear: torch.nn.Linear) -> "BitLinear":
        """Convert a torch.nn.Linear; its weights become -1, 0 or 1 times mean |W|.

        A layer trained for ternary weights, as BitNet's are, keeps its accuracy; any other layer
        loses much of it.
        """
        if not isinstance(linear, torch.nn.Linear):
            raise TypeError(f"from_linear takes a torch.nn.Linear, got {type(linear).__name__}")
        if linear.weight.device.type == "meta":
            raise ValueError("the weight has no numbers: it is on meta")
        q = quantize_ternary(linear.weight)
        N, K = linear.weight.shape
        return BitLinear.from_packed(pack_bitnet_2bit(q.W_q), q.scales, K, N, linear.bias)

    @staticmethod
    def from_packed(
        W_packed: torch.Tensor,
        ws: torch.Tensor,
        in_features: int,
        out_features: int,
        bias: torch.Tensor | None = None,
        convention: ScaleConvention = ScaleConvention.MULTIPLY,
    ) -> "BitLinear":
        """Make the layer from words in BitNet's order and the scales of the weights.

        ws: floating-point, one element, (N,) or (N, 1); `convention` says what it means.
        BitNet stores int8 words (N, K / 4): pass `W.view(torch.int32)`. For BitMedViT's orders,
        call `from_fragments` first.
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
            check_bias(bias, out_features, (*FLOATS, torch.float64))
            layer.bias = bias.detach().to(W_packed.device, copy=True)
        return layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """y (..., N) for x (..., K), fp16, bf16 or fp32; y has the dtype of x."""
        self._check(x)
        x_q, token_scales = quantize_activations_int8(x)
        rows = x_q.reshape(-1, self.in_features)
        y = a8w2(rows, self.W_packed, self.scales, token_scales, self.out_features, x.dtype)
        y = y if self.bias is None else y + self.bias.to(y.dtype)
        return y.reshape(*x.shape[:-1], self.out_features)

    def _check(self, x: torch.Tensor) -> None:
        self._check_x(x, self.W_packed, FLOATS)
        for name, tensor in (("x", x), ("scales", self.scales), ("bias", self.bias)):
            if tensor is not None:
                check_no_grad(name, tensor)

    def extra_repr(self) -> str:
        """The sizes, and whether the layer has a bias."""
        bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={bias}"
