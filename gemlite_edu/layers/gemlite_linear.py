"""`GemLiteLinear`, a linear layer of low-bit weights on the kernels, after GemLite's."""

import torch

from gemlite_edu.layers.explain import explained
from gemlite_edu.layers.frozen import FrozenLayer
from gemlite_edu.numbers.activations import (
    scale_activations_fp8,
    scale_activations_int8,
    scaled_activations_of,
    token_scales_of,
)
from gemlite_edu.numbers.checks import check_no_grad, is_int
from gemlite_edu.numbers.dtypes import DType
from gemlite_edu.operators import tuning
from gemlite_edu.operators.choose import check_matmul_type, limits
from gemlite_edu.operators.form import Form
from gemlite_edu.operators.linear_op import linear, linear_at_once
from gemlite_edu.operators.pack import (
    TENSORS,
    check_operand,
    check_replacement,
    dtype_and_shape,
    packed,
)
from gemlite_edu.operators.saved import metadata_of, saved

_ARGUMENTS = (
    *("W_nbits", "group_size", "in_features", "out_features"),
    *("input_dtype", "output_dtype", "acc_dtype", "scaled_activations"),
)


class GemLiteLinear(FrozenLayer):
    """y = x Wᵀ + bias, W of 8, 4, 3, 2 or 1 bits, or of 8 or 16 bits unpacked.

    W_nbits, group_size: of the codes; any divisor of in_features; None: per channel.
    input_dtype: FP16, BF16, FP8 (e4m3), FP8e5 or INT8, of x; if `scaled_activations`, of what
    `scale_activations` makes of x, whose scales multiply y. output_dtype: FP16, BF16, FP32, FP8,
    FP8e5, or INT32 for INT8 without scales. acc_dtype: FP16: tensor cores add up a group's products
    in fp16, which is faster on some GPUs and less exact; None: in fp32, or exactly in int32.
    Without arguments it is empty, for `load_state_dict`. It has no backward.
    Source: GemLite, whose calls it takes.

    >>> layer = GemLiteLinear(4, group_size=32, in_features=64, out_features=2)
    >>> W_q = torch.full((2, 64), 9, dtype=torch.uint8)
    >>> layer = layer.pack(W_q, torch.full((2, 2), 0.5), torch.full((2, 2), 8.0))
    >>> layer.explain(M=1).splitlines()[0]
    'M = 1: GEMV, gemv'
    """

    cache_config = staticmethod(tuning.save)
    load_config = staticmethod(tuning.load)

    def __init__(
        self,
        W_nbits=None,
        group_size=None,
        in_features=None,
        out_features=None,
        input_dtype=DType.FP16,
        output_dtype=DType.FP16,
        scaled_activations=False,
        acc_dtype=None,
    ):
        super().__init__()
        for name in TENSORS:
            self.register_parameter(name, None)
        self.register_buffer("metadata", None)
        self._form = self.layout = self.mode = self._form_text = None
        sizes = (W_nbits, group_size, in_features, out_features)
        if any(size is not None for size in sizes):
            self._take_form(
                Form(
                    W_nbits,
                    group_size,
                    in_features,
                    out_features,
                    input_dtype,
                    output_dtype,
                    acc_dtype,
                    scaled_activations,
                )
            )

    def _take_form(self, form):
        self._form = form
        for name in _ARGUMENTS:
            setattr(self, name, getattr(form, name))

    def pack(self, W_q, scales=None, zeros=None, bias=None, fma_mode=False, packing_bitwidth=None):
        """Take the weights over, in the layout of the kernels; returns the layer.

        W_q: codes (N, K) uint8; or words of codes as `packing.rows_cols` packs them, (N, words) or
        (words, K), int32, int16 or uint8; or for W_nbits 8 and 16 the weights themselves, (N, K)
        int8, fp8, or the 16-bit type of x. scales, zeros: numbers, or tensors with one element, one
        for each channel, or for each group of each channel, or None; W ~ (W_q - zeros) * scales.
        fma_mode: weights are q s + z', with z' = -zeros * scales rounded to the scales' type.
        packing_bitwidth: 32, 16 or 8 bits of codes in a word; None: whatever pads least.
        Raises TypeError or ValueError, and stays as it was, for anything else.
        """
        if self._form is None:
            raise ValueError("this layer is empty: make it with W_nbits, group_size and its sizes")
        form = self._form
        self._take(*packed(form, W_q, scales, zeros, bias, fma_mode, packing_bitwidth))
        return self

    def _take(self, form, tensors):
        """Become the layer of this `Form` and {name: tensor or None}, or stay as it was."""
        made = {name: _frozen(tensor) for name, tensor in tensors.items()}
        metadata, text = metadata_of(form, made), form.to_text()
        form = Form.of_text(text)
        self._form_text = None  # while tensors come one by one
        self._take_form(form)
        for name, tensor in made.items():
            setattr(self, name, tensor)
        (self.layout, *_), self.mode, self.metadata = form.operands, form.mode, metadata
        self._packed = {name: dtype_and_shape(tensor) for name, tensor in made.items()}
        self._form_text = text

    def scale_activations(self, x):
        """(x of `input_dtype`, scales (M, 1)) with x ~ the product of both; override it at will.

        What is put in its place is not moved with the layer, nor held by its state_dict; to pickle
        the layer it must be one that can be pickled.
        """
        if self.input_dtype == DType.INT8:
            return scale_activations_int8(x)
        if self.input_dtype in (DType.FP8, DType.FP8e5):
            return scale_activations_fp8(x, self.input_dtype.value)
        return x.to(self.input_dtype.value), None

    def __setattr__(self, name, value):
        """ValueError for a tensor in another form than was packed. A module as `scale_activations`
        is a function like others."""
        is_one = name in TENSORS and isinstance(value, torch.Tensor | None)
        if is_one and self._form_text is not None:
            check_replacement(name, value, self._packed[name], self)
        if name == "scale_activations":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def forward(self, x):
        """y (..., N) for x (..., K), by the kernel that `explain` names.

        Raises TypeError or ValueError for another x, and where x or a weight requires grad.
        """
        return self._product(x, "")

    def forward_manual(self, x, matmul_type="GEMM"):
        """Like forward, by the kernel of that name in `choose.MATMUL_TYPES`."""
        self._check_packed()
        check_matmul_type(matmul_type, self._form.keeps_16_bits)
        return self._product(x, matmul_type)

    def _product(self, x, matmul_type):
        self._check_packed()
        of_layer = *self._tensors(), self._form_text, matmul_type
        y = None if self.scaled_activations else linear_at_once(x, None, *of_layer)
        return self._checked_product(x, of_layer) if y is None else y

    def _tensors(self):
        """Parameters are soonest found by name; of replicas and parametrizations as attributes."""
        own = self._parameters
        return [own[name] if name in own else getattr(self, name) for name in TENSORS]

    def _checked_product(self, x, of_layer):
        if torch.compiler.is_compiling():
            check_no_grad("x", x)
        else:
            check_operand("x", x, devices=("cpu", "cuda", "meta"))
        self._check_place(x, self.W_q)
        for name, tensor in zip(TENSORS, of_layer, strict=False):
            if tensor is not None:
                check_no_grad(name, tensor)
        token_scales = None
        if self.scaled_activations:
            x, token_scales = scaled_activations_of(self.scale_activations(x), x)
            M = x.numel() // self.in_features
            token_scales = token_scales_of(token_scales, M, x.device)
        if x.dtype != self.input_dtype.value:
            raise TypeError(f"x must be {self.input_dtype.value}, got {x.dtype}")
        return linear(x, token_scales, *of_layer)

    def _check_packed(self):
        if self._form_text is None:
            raise ValueError("this layer has no weights yet: call pack, or load_state_dict")

    def explain(self, M=1):
        """What happens to M rows of x, as a text: the kernel and the rule that chose it, the modes,
        the types."""
        if not is_int(M):
            raise ValueError(f"M must be an int of at least 1, got {M!r}")
        return explained(self, self._problem(M))

    def limits(self):
        """((most rows, kernel), ...): which kernel multiplies up to how many rows; None: any."""
        return limits(self._problem(M=1))

    def _problem(self, M):
        self._check_packed()
        return self._form.problem(M, self.W_q.device)

    def extra_repr(self):
        """Sizes, width, groups and types."""
        if self._form is None:
            return "empty"
        group = self.group_size or "channel"
        types = f"{self.input_dtype.name} to {self.output_dtype.name}"
        return f"{self.in_features} to {self.out_features}, W{self.W_nbits} per {group}, {types}"

    def _save_to_state_dict(self, state, prefix, keep_vars):
        """`metadata` says whether there is a bias, which may have come or gone since `pack`."""
        super()._save_to_state_dict(state, prefix, keep_vars)
        if self._form_text is not None:
            metadata = self.metadata.clone()
            metadata[-1] = self.bias is not None
            state[prefix + "metadata"] = metadata

    def _load_from_state_dict(self, state, prefix, about, strict, missing, unexpected, errors):
        """Becomes the layer that was saved, whatever it was; or stays as it is, and says why."""
        found = {name: state.get(prefix + name) for name in (*TENSORS, "metadata")}
        known = {prefix + name for name in found}
        unexpected += [name for name in state if name.startswith(prefix) and name not in known]
        absent = [prefix + name for name in ("W_q", "metadata") if found[name] is None]
        missing += absent
        if absent:
            return
        assign = about.get("assign_to_params_buffers", False)
        device = found["W_q"].device if assign or self.W_q is None else self.W_q.device
        metadata = found.pop("metadata")
        try:
            form, tensors = saved(metadata, found)
        except (ValueError, TypeError) as error:
            errors.append(f"{prefix}metadata: {error}")
            return
        on_device = {n: None if t is None else t.to(device) for n, t in tensors.items()}
        self._take(form, on_device)


def _frozen(tensor):
    """A parameter that no training changes, with memory of its own; None stays None."""
    if tensor is None:
        return None
    own = tensor.detach().clone(memory_format=torch.contiguous_format)
    return torch.nn.Parameter(own, requires_grad=False)
