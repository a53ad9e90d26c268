"""`GemLiteLinear`, a linear layer with low-bit weights of any format, modelled on GemLite's."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

import torch
from torch.autograd import forward_ad

from gemlite_edu.kernels.machine import Machine
from gemlite_edu.layers.coded_linear import LayerQuantizer, Quantizer, coded_linear, quantizer_of
from gemlite_edu.layers.explain import explained
from gemlite_edu.layers.saved_layer import SavedLayer
from gemlite_edu.numbers.activations import (
    scale_activations_fp8,
    scale_activations_half,
    scale_activations_int8,
    scaled_activations_of,
    token_scales_of,
)
from gemlite_edu.numbers.checks import FLOATS, check_dense, check_no_grad, is_int
from gemlite_edu.numbers.coded_weight import CodedWeight
from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.weight_modes import WeightMode
from gemlite_edu.operators import tuning
from gemlite_edu.operators.choose import Layout, MatmulType, Problem, check_matmul_type, limits
from gemlite_edu.operators.form import Form
from gemlite_edu.operators.linear_op import linear, linear_at_once
from gemlite_edu.operators.pack import (
    TENSORS,
    check_operand,
    check_replacement,
    dtype_and_shape,
    packed,
)
from gemlite_edu.operators.pack_coded import packed_coded
from gemlite_edu.operators.saved import metadata_of

_ARGUMENTS = (
    *("W_nbits", "group_size", "in_features", "out_features"),
    *("input_dtype", "output_dtype", "acc_dtype", "scaled_activations"),
)
_DEVICES = ("cpu", "cuda", "meta")
_HERE: Any = object()  # the machine on which a layer is


class GemLiteLinear(SavedLayer):
    """y = x Wᵀ + bias, where W has 1 to 8 bits, or 8 or 16 bits unpacked.

    `from_linear` and `from_coded` make a layer of any `Format`; the arguments here are GemLite's.
    W_nbits: width of the codes. group_size: any divisor of in_features; None: one per channel.
    input_dtype: the dtype of x, FP16, BF16, FP8 (e4m3), FP8e5 or INT8. With `scaled_activations`,
    `scale_activations` converts x to it, and the scales of x multiply y. output_dtype: FP16, BF16,
    FP32, FP8, FP8e5, or INT32 for INT8 without scales. acc_dtype: with FP16, tensor cores
    accumulate a group in fp16, which is faster on some GPUs and less exact; None: in fp32, or
    exactly in int32. A layer made without arguments is empty until `load_state_dict` fills it.
    trusted_texts: {hole: CUDA text} that a state may bring in its format, as `UntrustedText.texts`
    has them. The layer has no backward.
    Source: GemLite, whose API it follows.

    >>> from gemlite_edu import H200
    >>> layer = GemLiteLinear(4, group_size=128, in_features=256, out_features=8)
    >>> W_q = torch.full((8, 256), 9, dtype=torch.uint8)
    >>> layer = layer.pack(W_q, torch.full((8, 2), 0.5), torch.full((8, 2), 8.0))
    >>> layer.explain(M=1, machine=H200).splitlines()[0]
    'M = 1: GEMV_FAST, gemv_a16wn_fast'
    """

    W_nbits: int
    group_size: int | None
    out_features: int
    input_dtype: DType
    output_dtype: DType
    acc_dtype: DType | None
    scaled_activations: bool
    layout: Layout | None
    mode: WeightMode | None
    _form: Any  # a `Form`, or None
    _format: Format | None

    cache_config = staticmethod(tuning.save)
    load_config = staticmethod(tuning.load)

    def __init__(
        self,
        W_nbits: int | None = None,
        group_size: int | None = None,
        in_features: int | None = None,
        out_features: int | None = None,
        input_dtype: DType = DType.FP16,
        output_dtype: DType = DType.FP16,
        scaled_activations: bool = False,
        acc_dtype: DType | None = None,
        trusted_texts: dict[str, str] | None = None,
    ) -> None:
        super().__init__(trusted_texts)
        for name in TENSORS:
            self.register_parameter(name, None)
        self.register_buffer("metadata", None)
        self.register_buffer("_levels", None, persistent=False)  # `metadata` has the format's
        self._form = self._format = self._form_text = None
        self.layout = self.mode = None
        sizes = (W_nbits, group_size, in_features, out_features)
        if any(size is not None for size in sizes):
            types = input_dtype, output_dtype, acc_dtype
            form = Form(*sizes, *types, scaled_activations)  # type: ignore[arg-type]  # it checks
            self._take_form(form)

    @property
    def format(self) -> Format | None:
        """The `Format` of a layer from `from_coded`, unless its codes are integers; else None."""
        return self._format

    def _take_form(self, form: Form) -> None:
        self._form = form
        for name in _ARGUMENTS:
            setattr(self, name, getattr(form, name))

    def pack(
        self,
        W_q: torch.Tensor,
        scales: torch.Tensor | float | None = None,
        zeros: torch.Tensor | float | None = None,
        bias: torch.Tensor | None = None,
        fma_mode: bool = False,
        packing_bitwidth: Literal[8, 16, 32] | None = None,
    ) -> Self:
        """Store the weights in the layout of the kernels; returns the layer.

        W_q: codes (N, K) uint8; or words of codes as `packing.rows_cols` packs them, (N, words) or
        (words, K), int32, int16 or uint8; or for W_nbits 8 and 16 the weights themselves, (N, K)
        int8, fp8, or the 16-bit dtype of x. scales, zeros: None, a number, or a tensor with one
        element, one per channel, or one per group of each channel; W ~ (W_q - zeros) * scales.
        fma_mode: weights are q s + z', with z' = -zeros * scales rounded to the scales' dtype.
        packing_bitwidth: width of the packed words, 32, 16 or 8; None: the width that pads least,
        and for 7, 6, 5 and 3 bits `PieceTiles`, of which no bit is idle.
        Raises TypeError or ValueError for any other argument, and then leaves the layer unchanged.
        """
        if self._form is None:
            raise ValueError("this layer is empty: make it with W_nbits, group_size and its sizes")
        form = self._form
        self._take(*packed(form, W_q, scales, zeros, bias, fma_mode, packing_bitwidth))
        return self

    @classmethod
    def from_coded(
        cls, q: CodedWeight, bias: torch.Tensor | None = None, dtype: torch.dtype = torch.float16
    ) -> Self:
        """Make a layer of any `Format` from a `CodedWeight`, of our quantizer or of yours.

        bias: (N,), a float tensor; None: no bias. dtype: of x and y, torch.float16, torch.bfloat16
        or torch.float32. float32 x is brought to float16 by `scale_activations_half`, which keeps
        11 bits of each number and its range; sums and y are float32. Such a layer takes 16-bit x,
        too. Layers whose formats differ in their levels alone share their builds and their graphs.
        Raises TypeError or ValueError for other arguments.

        >>> from gemlite_edu import NF4, quantize_to_format
        >>> layer = GemLiteLinear.from_coded(quantize_to_format(torch.ones(2, 64), NF4))
        >>> layer(torch.ones(1, 64).half())
        tensor([[64., 64.]], dtype=torch.float16)
        """
        layer = cls()
        bias = bias.detach() if isinstance(bias, torch.Tensor) else bias
        form, tensors = packed_coded(q, bias, dtype)
        layer._take(form, tensors, q.format)
        return layer

    @classmethod
    def from_linear(
        cls,
        linear: torch.nn.Linear,
        format: Format,
        quantizer: Quantizer | LayerQuantizer | Literal["hqq"] | None = None,
    ) -> Self:
        """Make a layer from a torch.nn.Linear, with its bias and dtype; that layer does not change.

        format: a `Format`, such as NF4. quantizer: your function from (W (N, K), format) to a
        `CodedWeight`; "hqq" for the hqq library's; None for `quantize_to_format`.
        """
        if not isinstance(linear, torch.nn.Linear):
            raise TypeError(f"from_linear takes a torch.nn.Linear, got {type(linear).__name__}")
        check_dense("the Linear's weight", linear.weight, FLOATS)
        bias = None if linear.bias is None else linear.bias.detach()
        q = coded_linear(linear, format, quantizer_of(quantizer, format))
        return cls.from_coded(q, bias, linear.weight.dtype)

    def _take(
        self, form: Form, tensors: Mapping[str, torch.Tensor | None], format: Format | None = None
    ) -> None:
        """Take over this `Form`, these tensors {name: tensor or None} and this `Format`; if that
        fails, change nothing."""
        made = {name: _frozen(tensors[name]) for name in TENSORS}
        format = None if form.coding is None else format
        metadata, text = metadata_of(form, format, made), form.to_text()
        form = Form.of_text(text)
        self._form_text = None  # until every tensor is set
        self._take_form(form)
        self._format, self._levels = format, tensors["levels"]
        for name, tensor in made.items():
            setattr(self, name, tensor)
        (self.layout, *_), self.mode, self.metadata = form.operands, form.mode, metadata
        self._packed = {name: dtype_and_shape(tensor) for name, tensor in made.items()}
        self._form_text = text

    def scale_activations(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """(x_q as `input_dtype`, scales (M, 1)), with x ~ x_q * scales. You may assign another
        function in its place.

        The layer does not move that function to a device, nor save it in its state_dict; pickling
        the layer pickles the function too.
        """
        if self.input_dtype == DType.INT8:
            return scale_activations_int8(x)
        if self.input_dtype in (DType.FP8, DType.FP8e5):
            return scale_activations_fp8(x, self.input_dtype.value)
        if isinstance(x, torch.Tensor) and x.dtype == self.input_dtype.value:
            return x, None
        return scale_activations_half(x, self.input_dtype.value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse a tensor whose dtype or shape differs from the packed one. A module assigned to
        `scale_activations` stays a plain attribute, not a submodule."""
        is_one = name in TENSORS and isinstance(value, torch.Tensor | None)
        if is_one and self._form_text is not None:
            check_replacement(name, value, self._packed[name], self)
        if name == "scale_activations":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)
        if is_one and name == "W_q" and value is not None and self._levels is not None:
            self._levels = self._levels.to(value.device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute y (..., N) for x (..., K) with the kernel that `explain` names.

        Under torch.autocast, a floating-point x becomes the layer's dtype. Raises TypeError or
        ValueError if x does not fit, or if x or a weight requires grad.
        """
        return self._product(x, "")

    def forward_manual(self, x: torch.Tensor, matmul_type: MatmulType = "GEMM") -> torch.Tensor:
        """Like forward, with the kernel that you choose from `choose.MATMUL_TYPES`.

        Raises ValueError, too, for a kernel that does not take the layer's weights and dtypes.
        """
        self._check_packed()
        problem = self._form.problem_on(None, 1)._replace(is_interpreted=self.W_q.is_cpu)
        check_matmul_type(matmul_type, problem)
        return self._product(x, matmul_type)

    def _product(self, x: torch.Tensor, matmul_type: str) -> torch.Tensor:
        if self._form_text is None:  # to ask is faster than to call
            self._check_packed()
        own = self._parameters  # the soonest way; of replicas, only attributes are
        tensors = [own[name] if name in own else getattr(self, name) for name in TENSORS]
        of_layer = *tensors, self._form_text, matmul_type, self._buffers["_levels"]
        y = None if self.scaled_activations else linear_at_once(x, None, *of_layer)
        return self._checked_product(x, of_layer) if y is None else y

    def _checked_product(self, x: torch.Tensor, of_layer: tuple[Any, ...]) -> torch.Tensor:
        words, tensors = of_layer[0], of_layer[: len(TENSORS)]
        present = [tensor for tensor in tensors if tensor is not None]
        is_taken = (
            isinstance(x, torch.Tensor)
            and x.layout == torch.strided
            and x.device == words.device
            and x.device.type in _DEVICES
            and x.shape[-1:] == (self.in_features,)
            and not (torch.is_grad_enabled() and any(t.requires_grad for t in (x, *present)))
            and forward_ad._current_level < 0
        )
        if not is_taken:
            self._check_operands(x, tensors)
        token_scales = None
        if self.scaled_activations:
            x, token_scales = scaled_activations_of(self.scale_activations(x), x)
            M = x.numel() // self.in_features
            token_scales = token_scales_of(token_scales, M, x.device)
        device = x.device.type
        if device != "meta" and torch.is_autocast_enabled(device) and x.is_floating_point():
            x = x.to(self.input_dtype.value)
        if x.dtype != self.input_dtype.value:
            raise TypeError(f"x must be {self.input_dtype.value}, got {x.dtype}")
        return linear(x, token_scales, *of_layer)

    def _check_operands(self, x: torch.Tensor, tensors: Iterable[torch.Tensor | None]) -> None:
        """Say what is wrong with x or the tensors; what torch compiles may be on any device."""
        if torch.compiler.is_compiling():
            check_no_grad("x", x)
        else:
            check_operand("x", x, _DEVICES)
        self._check_place(x, self.W_q)
        for name, tensor in zip(TENSORS, tensors, strict=True):
            if tensor is not None:
                check_no_grad(name, tensor)

    def _check_packed(self) -> None:
        if self._form_text is None:
            raise ValueError("this layer has no weights yet: call pack, or load_state_dict")

    def explain(self, M: int = 1, machine: Machine | None = _HERE) -> str:
        """Describe how the layer multiplies M rows of x: the kernel, the rule that chose it, the
        modes and the dtypes.

        machine: a `Machine` such as `H200`, to ask what the layer would do there; None: a GPU for
        which there is no nvcc. By default the layer tells what it does where it is.
        """
        if not is_int(M):
            raise ValueError(f"M must be an int of at least 1, got {M!r}")
        return explained(self, self._problem(M, machine))

    def limits(self, machine: Machine | None = _HERE) -> tuple[tuple[int | None, str], ...]:
        """((most rows, kernel), ...): the largest M that each kernel handles; None: any M.

        machine: as for `explain`.
        """
        return limits(self._problem(1, machine))

    def _problem(self, M: int, machine: Machine | None) -> Problem:
        self._check_packed()
        if machine is _HERE:
            return self._form.problem(M, self.W_q.device)
        if machine is not None and not isinstance(machine, Machine):
            raise TypeError(f"machine must be a Machine such as H200, or None, got {machine!r}")
        return self._form.problem_on(machine, M)

    def extra_repr(self) -> str:
        """The sizes, width, group size and dtypes."""
        if self._form is None:
            return "empty"
        group = self.group_size or "channel"
        types = f"{self.input_dtype.name} to {self.output_dtype.name}"
        codes = self.format or f"W{self.W_nbits} per {group}"
        return f"{self.in_features} to {self.out_features}, {codes}, {types}"


def _frozen(tensor: torch.Tensor | None) -> torch.nn.Parameter | None:
    """A copy of the tensor as a parameter that needs no gradient; None stays None."""
    if tensor is None:
        return None
    own = tensor.detach().clone(memory_format=torch.contiguous_format)
    return torch.nn.Parameter(own, requires_grad=False)
