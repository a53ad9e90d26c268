"""How a `GemLiteLinear` is saved and loaded: its tensors, and `metadata` for everything else."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from gemlite_edu.kernels.errors import UntrustedText
from gemlite_edu.layers.frozen import FrozenLayer
from gemlite_edu.numbers.format import Format
from gemlite_edu.operators.pack import TENSORS
from gemlite_edu.operators.saved import BIAS_IN_METADATA, saved

_NEEDED = ("W_q", "metadata")  # in every state
# A state has this text as its `weight`, which no dense layer takes: by its shape, (bytes,), torch
# and transformers refuse it, where they could otherwise run a model with untrained weights.
NO_WEIGHT = b"packed by gemlite_edu: import gemlite_edu before you load this model"


class SavedLayer(FrozenLayer):
    """A layer that a state turns into the saved one, whatever its `Form`.

    A subclass must have `format`, `metadata`, `_form_text`, the tensors of `TENSORS`, and `_take`,
    which takes over a `Form`, tensors and a `Format`.
    trusted_texts: {hole: CUDA text} that a state may bring.
    """

    W_q: torch.Tensor
    high: torch.Tensor | None
    scales: torch.Tensor | None
    zeros: torch.Tensor | None
    channel_scales: torch.Tensor | None
    bias: torch.Tensor | None
    metadata: torch.Tensor
    _form_text: str | None
    _take: Callable[..., None]
    _made_no_weight: torch.Tensor | None = None

    def __init__(self, trusted_texts: dict[str, str] | None) -> None:
        super().__init__()
        if not isinstance(trusted_texts, dict | None):
            came = type(trusted_texts).__name__
            raise TypeError(f"trusted_texts must be a dict {{hole: text}}, got {came}")
        self._trusted_texts = dict(trusted_texts or {})

    def __getattr__(self, name: str) -> torch.Tensor | torch.nn.Module:
        """What torch.nn.Module finds; a `weight` there is none, and some models read their own."""
        if name == "weight":
            raise AttributeError(
                f"a {type(self).__name__} has no weight, because its codes are packed, but the "
                "model's own code reads one: leave that layer out by its name, as "
                'quantize_(model, format, skip=("lm_head", "wo")) does for T5'
            )
        return super().__getattr__(name)

    def _save_to_state_dict(self, state: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Save the layer, with `metadata` updated: the bias may have come or gone since `pack`."""
        if self._form_text is not None:
            self._update_metadata()
        super()._save_to_state_dict(state, prefix, keep_vars)
        if self._form_text is not None:
            state[prefix + "weight"] = self._no_weight()

    def _no_weight(self) -> torch.Tensor:
        """`NO_WEIGHT` as bytes; always the same tensor, so that a tied layer is saved once."""
        made, device = self._made_no_weight, self.W_q.device
        if type(made) is not torch.Tensor or made.device != device:
            made = torch.tensor(list(NO_WEIGHT), dtype=torch.uint8, device=device)
            self._made_no_weight = made
        return made

    def _update_metadata(self) -> None:
        """Note whether there is a bias. Tied layers keep sharing one tensor."""
        has_bias = self.bias is not None
        if not self.metadata.is_meta and bool(self.metadata[BIAS_IN_METADATA]) != has_bias:
            self.metadata = self.metadata.clone()
            self.metadata[BIAS_IN_METADATA] = has_bias

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
        """Become the saved layer, whatever its form; on an error, report it and change nothing."""
        found: dict[str, Any] = {name: state.get(prefix + name) for name in (*TENSORS, "metadata")}
        known = {prefix + name for name in found}
        if found["W_q"] is not None or found["metadata"] is not None:
            known.add(prefix + "weight")
        unexpected += [name for name in state if name.startswith(prefix) and name not in known]
        absent = [name for name, tensor in found.items() if tensor is None]
        if "W_q" in absent or "metadata" in absent:
            needed = [n for n in absent if n in _NEEDED or getattr(self, n) is not None]
            if self._form_text is not None and prefix + "weight" not in state:
                needed.append("weight")
            missing += [prefix + name for name in needed]
            return
        assign = about.get("assign_to_params_buffers", False)
        device = found["W_q"].device if assign or self.W_q is None else self.W_q.device
        metadata = found.pop("metadata")
        try:
            form, tensors, format = saved(metadata, found)
        except (ValueError, TypeError) as error:
            errors.append(f"{prefix}metadata: {error}")
            return
        self._check_trusted(format, prefix)
        on_device = {n: None if t is None else t.to(device) for n, t in tensors.items()}
        self._take(form, on_device, format)

    def _check_trusted(self, format: Format | None, prefix: str) -> None:
        """Raise `UntrustedText` if the format has texts that nobody has given to this layer."""
        texts = {} if format is None else format.holes
        own: Any = self.format
        if texts and texts != self._trusted_texts and not (own and texts == own.holes):
            raise UntrustedText(
                f"the state of {prefix.rstrip('.') or 'this layer'} has CUDA text for "
                f"{' and '.join(texts)}, which would be compiled and run: read this error's texts, "
                "and if you trust them, make the layer with trusted_texts=error.texts",
                texts,
            )
