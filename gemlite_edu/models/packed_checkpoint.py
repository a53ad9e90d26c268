"""GPTQ and AWQ folders: which tensors belong to a layer, and what the config says of them.

Sources: AutoGPTQ's and GPTQModel's `quantize_config.json` (bits, group_size, desc_act,
checkpoint_format), AutoAWQ's `quant_config.json` (w_bit, q_group_size, version), and the
`quantization_config` in config.json that transformers made of both.
"""

import os
from collections.abc import Mapping
from typing import Any

import torch

from gemlite_edu.layers.importers import from_awq, from_gptq
from gemlite_edu.models.shards import Shards
from gemlite_edu.numbers.checks import is_int
from gemlite_edu.numbers.quantize import QuantizedWeight

_PARTS = ("qweight", "qzeros", "scales", "g_idx", "bias")
_NEEDED = ("qweight", "qzeros", "scales")
_STORED = {"gptq": ("gptq", "gptq_v2"), "awq": ("gemm",)}  # the layouts of words that are read


class PackedCheckpoint:
    """A folder of `method` "gptq" or "awq"; settings: its quantization_config.

    layers: the names of the packed layers. others: the names of all other tensors.
    Raises ValueError for a layout that the importers do not read, or a layer that lacks a tensor.
    """

    def __init__(
        self, folder: str | os.PathLike[str], method: str, settings: Mapping[str, Any]
    ) -> None:
        self._shards, self._method = Shards(folder), method
        self._layout = str(_first(settings, "checkpoint_format", "version", "format") or "").lower()
        self._layout = self._layout or _STORED[method][0]
        self._nbits = _first(settings, "bits", "w_bit")
        self._group_size = _first(settings, "group_size", "q_group_size")
        self._is_mixed, self._desc_act = bool(settings.get("dynamic")), settings.get("desc_act")
        for name, value, smallest in (
            ("bits", self._nbits, 1),
            ("group_size", self._group_size, -1),
        ):
            if not (is_int(value, smallest) or value is None and name == "group_size"):
                raise ValueError(f"{name} in the config of {folder} must be an int, got {value!r}")
        if self._layout not in _STORED[method]:
            raise ValueError(
                f"{folder} stores {method} layers as {self._layout!r}, and this reads "
                f"{' and '.join(_STORED[method])}: save it so with the library that made it"
            )
        names = self._shards.names()
        self.layers = [n.removesuffix(".qweight") for n in names if n.endswith(".qweight")]
        of_layers = {f"{layer}.{part}" for layer in self.layers for part in _PARTS}
        self.others = [name for name in names if name not in of_layers]
        for layer in self.layers:
            for part in _NEEDED:
                if f"{layer}.{part}" not in names:
                    raise ValueError(f"{folder} has {layer}.qweight but no {layer}.{part}")

    def read(self, name: str) -> torch.Tensor:
        """One of the other tensors."""
        return self._shards.read(name)

    def quantized(self, layer: str) -> tuple[QuantizedWeight, torch.Tensor | None]:
        """(`QuantizedWeight`, bias or None) of a layer."""
        parts = {
            part: self._shards.read(f"{layer}.{part}")
            for part in _PARTS
            if f"{layer}.{part}" in self._shards.names()
        }
        q = self._read_gptq(parts) if self._method == "gptq" else self._read_awq(parts)
        K = q.W_q.shape[1]
        said = K if self._group_size in (None, -1) else self._group_size
        if not self._is_mixed and q.group_size != said:
            raise ValueError(
                f"the config says group_size {said}, and the scales are of {q.group_size}"
            )
        return q, parts.get("bias")

    def _read_gptq(self, parts: Mapping[str, torch.Tensor]) -> QuantizedWeight:
        g_idx, nbits = parts.get("g_idx"), self._nbits
        if self._desc_act and g_idx is None:
            raise ValueError("the config says desc_act, and the layer has no g_idx: copy it, too")
        if g_idx is not None and g_idx.numel():
            nbits = 32 * len(parts["qweight"]) // len(g_idx)
        if not self._is_mixed and nbits != self._nbits:
            raise ValueError(f"the config says {self._nbits} bits, and qweight is of {nbits}")
        qweight, qzeros, scales = (parts[part] for part in _NEEDED)
        return from_gptq(
            qweight,
            qzeros,
            scales,
            g_idx=g_idx,
            nbits=nbits,
            zeros_stored_minus_one=self._layout == "gptq",
        )

    def _read_awq(self, parts: Mapping[str, torch.Tensor]) -> QuantizedWeight:
        qweight, qzeros, scales = (parts[part] for part in _NEEDED)
        return from_awq(qweight, qzeros, scales, nbits=self._nbits)


def _first(settings: Mapping[str, Any], *names: str) -> Any:
    """The first of these settings that is there, or None."""
    return next((settings[name] for name in names if settings.get(name) is not None), None)
