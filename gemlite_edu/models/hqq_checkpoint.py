"""HQQ folders: `qmodel.pt` of hqq's save_quantized, or the safetensors of its save_to_safetensors.

Sources: hqq 0.2.8, `models/base.py`, `HQQLinear.state_dict` in `core/quantize.py`, and
`core/bitpack.py` for the words: the rows of codes are cut into as many parts as a word has fields,
and the first part is in the most significant field.
"""

import os
import pickle
from collections.abc import KeysView, Mapping
from pathlib import Path
from typing import Any

import torch

from gemlite_edu.layers.importers import codes_of_hqq
from gemlite_edu.models.shards import Shards
from gemlite_edu.numbers.quantize import QuantizedWeight

_PICKLED = "qmodel.pt"
_FIELDS = {"8bit_u8": (8, 1), "4bit_u8": (4, 2), "3bit_32": (3, 10), "2bit_u8": (2, 4)}
_FIELDS["1bit_u8"] = 1, 8  # packing: (bits of a field, fields of a word)
_NUMBERS = ("nbits", "group_size", "axis", "view_as_float", "quant_scale", "quant_zero")
_OF_LAYER = (
    *("W_q", "bias", "scale", "zero", "shape", "packing", *_NUMBERS),
    *("unpack_view_dtype", "compute_dtype", "offload_meta", "encoded_state_dict"),
    *("stores_quant_config", "channel_wise", "optimize", "round_zero"),
)


class HqqCheckpoint:
    """A folder of hqq. layers: the names of its HQQLinear; others: those of all other tensors."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        pickled = Path(folder) / _PICKLED
        self._state = _Pickled(pickled) if pickled.exists() else Shards(folder)
        names = self._state.names()
        self.layers = [n.removesuffix(".packing") for n in names if n.endswith(".packing")]
        of_layers = {f"{layer}.{part}" for layer in self.layers for part in _OF_LAYER}
        self.others = [name for name in names if name not in of_layers]

    def read(self, name: str) -> torch.Tensor:
        """One of the other tensors."""
        return self._state.read(name)

    def quantized(self, layer: str) -> tuple[QuantizedWeight, torch.Tensor | None]:
        """(`QuantizedWeight`, bias or None) of a layer."""
        names = self._state.names()
        state = {
            part: self._state.read(f"{layer}.{part}")
            for part in _OF_LAYER
            if f"{layer}.{part}" in names
        }
        stored = _StoredLayer(state)
        W_q, scales, zeros, nbits, group_size = codes_of_hqq(stored)
        scales, zeros = scales.float().contiguous(), zeros.float().contiguous()
        return QuantizedWeight(W_q, scales, zeros, nbits, group_size), state.get("bias")


def is_of_hqq(folder: str | os.PathLike[str]) -> bool:
    """True if hqq wrote the folder, by its files: its config.json does not say so."""
    if (Path(folder) / _PICKLED).exists():
        return True
    return any(name.endswith(".packing") for name in Shards(folder).names())


class _StoredLayer:
    """The parts of hqq's HQQLinear that `codes_of_hqq` uses, from its state."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.W_q = state.get("W_q")
        self.meta = {part: value for part, value in state.items() if part not in ("W_q", "bias")}
        for part in _NUMBERS:
            if isinstance(self.meta.get(part), torch.Tensor):
                self.meta[part] = self.meta[part].item()
        for part in ("shape", "packing"):
            if isinstance(self.meta.get(part), torch.Tensor):
                self.meta[part] = self.meta[part].tolist()
        if isinstance(self.meta.get("packing"), list):
            self.meta["packing"] = "".join(map(chr, self.meta["packing"]))

    def unpack(self, dtype: torch.dtype) -> torch.Tensor:
        """The codes, (rows, group), with the rows that fill the last part."""
        packing = self.meta.get("packing")
        if self.W_q is None:
            raise ValueError("the HQQ layer has no W_q")
        if packing not in _FIELDS:
            known = ", ".join(_FIELDS)
            raise ValueError(f"the HQQ layer's packing must be one of {known}, got {packing!r}")
        bits, fields = _FIELDS[packing]
        shifts = [bits * field for field in reversed(range(fields))]
        return torch.cat([(self.W_q >> shift & 2**bits - 1).to(dtype) for shift in shifts])


class _Pickled:
    """The tensors of qmodel.pt, {module name: its state}, by the interface of `Shards`."""

    def __init__(self, path: Path) -> None:
        try:
            saved = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            self._values = {
                f"{module}.{part}": value
                for module, state in saved.items()
                for part, value in (state | state.pop("meta", {})).items()
            }
        except (RuntimeError, OSError, pickle.UnpicklingError, AttributeError, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"{path} is damaged, or not of hqq: {reason}") from error

    def names(self) -> KeysView[str]:
        return self._values.keys()

    def read(self, name: str) -> torch.Tensor:
        return self._values[name]
