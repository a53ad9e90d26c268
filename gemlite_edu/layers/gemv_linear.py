"""`GemvLinear`, a torch module that holds packed weights and the kernel that reads them."""

import json
import os
from collections.abc import Mapping
from typing import Any, Self, TypedDict, Unpack

import torch

from gemlite_edu.kernels.errors import UntrustedText
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.layers.frozen import FrozenLayer
from gemlite_edu.numbers.checks import FLOATS, check_bias, check_flag, per_group
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.numbers.quantize import QuantizedWeight, check_is_quantized
from gemlite_edu.operators.gemv_op import PackedGemv
from gemlite_edu.packing import pack_warped_int32
from gemlite_edu.packing.address_map import check_words

_X_DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
_TENSORS = ("W_packed", "scales", "zeros", "bias")


class _Options(TypedDict, total=False):
    """The arguments that `from_quantized` passes on."""

    replace: dict[str, str] | None
    bias: torch.Tensor | None
    x_dtype: torch.dtype
    trust_saved_text: bool


class GemvLinear(FrozenLayer):
    """y = x Wᵀ + bias, where W ~ (codes - zeros) * scales, or whatever your own text computes.

    W_packed: int32 words in the kernel's layout, with in_features = K weights per row. scales,
    zeros: a number, or float32 (N, 1), (N, K // group_size) or (1, 1); `.half()` on a model keeps
    their dtypes. kernel, nbits, group_size, replace: as for `load`. bias: (N,) or None. x_dtype:
    the dtype of x and y, torch.float16 or torch.bfloat16. trust_saved_text: lets `load_state_dict`
    bring texts that differ from `replace`.

    The module saves the texts of `replace`, and its repr shows them. It has no backward.
    """

    W_packed: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    bias: torch.Tensor | None

    def __init__(
        self,
        W_packed: torch.Tensor,
        scales: torch.Tensor | float,
        zeros: torch.Tensor | float,
        in_features: int,
        nbits: int,
        *,
        kernel: str = "gemv_a16wn_fp32",
        group_size: int | None = None,
        replace: dict[str, str] | None = None,
        bias: torch.Tensor | None = None,
        x_dtype: torch.dtype = torch.float16,
        trust_saved_text: bool = False,
    ) -> None:
        super().__init__()
        if x_dtype not in _X_DTYPES.values():
            raise ValueError(f"x_dtype must be torch.float16 or torch.bfloat16, got {x_dtype}")
        check_flag("trust_saved_text", trust_saved_text)
        self.in_features, self.trust_saved_text = in_features, trust_saved_text
        self._gemv = PackedGemv(kernel, nbits, x_dtype, group_size, replace)
        check_words(W_packed, self._gemv.layout, in_features)
        shape = (len(W_packed), in_features // (group_size or in_features))
        scales = _factor("scales", scales, shape, W_packed.device)
        zeros = _factor("zeros", zeros, shape, W_packed.device)
        if bias is not None:
            check_bias(bias, len(W_packed), (*FLOATS, torch.float64))
        for name, tensor in zip(_TENSORS, (W_packed, scales, zeros, bias), strict=True):
            self.register_buffer(name, tensor)

    @staticmethod
    def from_quantized(
        q: QuantizedWeight, kernel: str = "gemv_a16wn_fp32", **options: Unpack[_Options]
    ) -> "GemvLinear":
        """Make the module from a `QuantizedWeight`.

        kernel: a kernel with wn in its name. options: replace, bias, x_dtype, trust_saved_text.

        >>> from gemlite_edu import quantize_linear
        >>> linear = GemvLinear.from_quantized(quantize_linear(torch.ones(2, 64), 4, group_size=32))
        >>> linear(torch.ones(1, 64).half())
        tensor([[64., 64.]], dtype=torch.float16)
        """
        check_is_quantized(q)
        if kernel in KERNELS and not KERNELS[kernel].takes_nbits:
            raise ValueError(f"{kernel} has words of its own: pack them and call GemvLinear(...)")
        K, W_packed = q.W_q.shape[1], pack_warped_int32(q.W_q, q.nbits)
        return GemvLinear(
            W_packed,
            q.scales,
            q.zeros,
            K,
            q.nbits,
            kernel=kernel,
            group_size=None if q.group_size == K else q.group_size,
            **options,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """y (..., N) for x (..., K) of x_dtype."""
        if isinstance(x, torch.Tensor) and x.dim() and x.shape[-1] != self.in_features:
            raise ValueError(f"x must be (..., {self.in_features}), got {tuple(x.shape)}")
        y = self._gemv(x, self.W_packed, self.scales, self.zeros)
        return y if self.bias is None else y + self.bias.to(y.dtype)

    def extra_repr(self) -> str:
        """The compile-time choices, and the texts that replace holes."""
        sizes = f"in_features={self.in_features}, out_features={len(self.W_packed)}"
        return f"{sizes}, x_dtype={self._gemv.x_dtype}, {self._gemv.describe()}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the module to a safetensors file, with its texts as metadata."""
        from safetensors.torch import save_file

        tensors = {name: tensor.contiguous() for name, tensor in self.named_buffers()}
        save_file(tensors, path, metadata={type(self).__name__: json.dumps(self.get_extra_state())})

    @classmethod
    def load(cls, path: str | os.PathLike[str], trust_saved_text: bool = False) -> Self:
        """Load a module that `save` wrote, onto the CPU.

        A saved text would be compiled and run, so a file with texts raises `UntrustedText` unless
        the caller passes `trust_saved_text=True`. Any other file raises ValueError.
        """
        check_flag("trust_saved_text", trust_saved_text)
        tensors, state = _read(path, cls.__name__)
        if state["replace"] and not trust_saved_text:
            raise _untrusted(path, state["replace"], "load(..., trust_saved_text=True)")
        return cls(**tensors, **state | {"x_dtype": _X_DTYPES[state["x_dtype"]]})

    def get_extra_state(self) -> dict[str, Any]:
        """The part of `state_dict()` that is not tensors: the kernel and its arguments."""
        gemv = self._gemv
        return {
            "in_features": self.in_features,
            "kernel": gemv.kernel,
            "nbits": gemv.nbits,
            "group_size": gemv.group_size,
            "replace": gemv.replace,
            "x_dtype": name_of(gemv.x_dtype),
        }

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take over the texts of `state`; everything else in it must match this module.

        Raises ValueError if it does not match. Raises `UntrustedText` if the texts differ, unless
        the module was made with `trust_saved_text=True`.
        """
        state, own = _checked(state), self.get_extra_state()
        differ = [name for name in own if name != "replace" and state[name] != own[name]]
        if differ:
            theirs = ", ".join(f"{name}={state[name]!r}" for name in differ)
            raise ValueError(
                f"the state is of a {type(self).__name__} with {theirs}: make it alike"
            )
        if state["replace"] == own["replace"]:
            return
        if not self.trust_saved_text and not state["replace"]:
            raise ValueError("the state has no text for holes and this module has: leave it out")
        if not self.trust_saved_text:
            allowed = (
                f"a {type(self).__name__} made with the same replace, or trust_saved_text=True"
            )
            raise _untrusted("the state", state["replace"], allowed)
        gemv = self._gemv
        self._gemv = PackedGemv(
            gemv.kernel, gemv.nbits, gemv.x_dtype, gemv.group_size, state["replace"]
        )

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        """Refuse an unfit state before it changes this module's tensors."""
        if f"{prefix}_extra_state" in state_dict:
            self.set_extra_state(state_dict[f"{prefix}_extra_state"])
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(tensors, checked state) of a file that `save` wrote; ValueError for another file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            state = json.loads((file.metadata() or {})[kind])
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, KeyError, json.JSONDecodeError):
        raise ValueError(f"{path} was not written by {kind}.save") from None
    if not tensors.keys() <= set(_TENSORS):
        raise ValueError(f"{path} was not written by {kind}.save: it has other tensors")
    return tensors, _checked(state)


def _checked(state: dict[str, Any]) -> dict[str, Any]:
    """Return `state`; raise ValueError unless `get_extra_state` can have made it."""
    types = {"in_features": int, "kernel": str, "nbits": int, "replace": dict, "x_dtype": str}
    is_whole = isinstance(state, dict) and state.keys() == types.keys() | {"group_size"}
    if (
        not is_whole
        or not all(isinstance(state[name], kind) for name, kind in types.items())
        or state["x_dtype"] not in _X_DTYPES
    ):
        raise ValueError("this is not the state of a GemvLinear: save it with the same version")
    return state


def _factor(
    name: str, value: torch.Tensor | float, shape: tuple[int, int], device: torch.device
) -> torch.Tensor:
    """Scales or zeros as they were given, or a number as (1, 1)."""
    full = per_group(name, value, shape, torch.float32, device)
    return value if isinstance(value, torch.Tensor) else full[:1, :1].clone()


def _untrusted(where: str | os.PathLike[str], texts: dict[str, str], allowed: str) -> UntrustedText:
    return UntrustedText(
        f"{where} has CUDA text for {', '.join(texts)}, which would be compiled and run: "
        f"read this error's texts, and if you trust them, use {allowed}",
        texts,
    )
