"""A folder's tensors in safetensors files: one file, or shards with an index, as everybody has it.

Source: the layout of Hugging Face's model folders, `model.safetensors` or
`model-00001-of-00002.safetensors` with `weight_map` in `model.safetensors.index.json`.
"""

import json
import os
from collections.abc import Iterable, KeysView, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

_ONE_FILE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_SHARD_BYTES = 5 * 10**9


class Shards:
    """The tensors of a folder, read one at a time.

    same_as: {name: name of the tensor in the files that it equals}, or None.
    Raises ValueError, in one sentence, if a file is missing, cut off, or without a tensor that the
    index says it has.
    """

    def __init__(self, folder: str | os.PathLike[str], same_as: Any = None) -> None:
        self._folder, self._files = Path(folder), dict[str, Any]()
        self._file_of = self._from_index() or self._from_files()
        self._same_as = {} if same_as is None else same_as
        if not _maps_texts(self._same_as):
            raise ValueError(f"same_as in the config of {folder} must map names to names")
        for name, other in self._same_as.items():
            if other not in self._file_of:
                raise ValueError(f"{folder} says that {name} equals {other}, which no file has")

    @classmethod
    def of_files(cls, paths: Sequence[str]) -> Self:
        """The tensors of these files, which lie in one folder."""
        shards = cls.__new__(cls)
        shards._folder, shards._files, shards._same_as = Path(paths[0]).parent, {}, {}
        shards._file_of = {
            name: Path(path).name
            for path in paths
            for name in shards._opened(Path(path).name).keys()
        }
        return shards

    def names(self) -> KeysView[str]:
        """The names of all tensors."""
        return (self._file_of | self._same_as).keys()

    def stored_as(self, name: str) -> str:
        """The name of this tensor in the files; equal for names of one tensor."""
        return self._same_as.get(name, name)

    def meta(self, name: str) -> torch.Tensor:
        """A tensor on meta with the dtype and shape of the saved one."""
        name = self.stored_as(name)
        part = self._opened(self._file_of[name]).get_slice(name)
        shape = part.get_shape()
        return torch.empty(shape, dtype=_DTYPES[part.get_dtype()], device="meta")

    def read(self, name: str, device: torch.device | str = "cpu") -> torch.Tensor:
        """The tensor of this name."""
        name = self.stored_as(name)
        return self._opened(self._file_of[name]).get_tensor(name).to(device)

    def _from_index(self) -> dict[str, str] | None:
        index = self._folder / _INDEX
        if not index.exists():
            return None
        try:
            file_of = json.loads(index.read_text())["weight_map"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{index} is damaged or half written: {error}") from error
        if not _maps_texts(file_of):
            raise ValueError(f"weight_map in {index} must map names to files")
        for name, file in file_of.items():
            if name not in self._opened(file).keys():
                raise ValueError(f"{self._folder / file} has no tensor {name}, but the index does")
        return file_of

    def _from_files(self) -> dict[str, str]:
        paths = sorted(self._folder.glob("*.safetensors"))
        if not paths:
            raise ValueError(f"{self._folder} has no .safetensors file: was it written to the end?")
        one = [path for path in paths if path.name == _ONE_FILE] or paths
        if len(one) > 1:
            raise ValueError(
                f"{self._folder} has {len(paths)} shards but no {_INDEX}: copy it, too"
            )
        return dict.fromkeys(self._opened(one[0].name).keys(), one[0].name)

    def _opened(self, file: str) -> Any:
        if file not in self._files:
            path = self._folder / file
            if not path.is_file():
                raise ValueError(
                    f"the shard {path} is missing: copy it, too, or save the model anew"
                )
            try:
                self._files[file] = safe_open(path, "pt")
            except (SafetensorError, OSError) as error:
                raise ValueError(f"{path} is damaged or half written: {error}") from error
        return self._files[file]


def _maps_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def write_shards(
    tensors: Iterable[tuple[str, torch.Tensor]], folder: Path, shard_bytes: int = _SHARD_BYTES
) -> None:
    """Write the pairs (name, tensor) to files of at most `shard_bytes`, or of one larger tensor.

    tensors: an iterable; of its tensors, those of one file are in memory at once. No two may share
    memory.
    """
    files: list[tuple[Path, list[str]]] = []
    shard: dict[str, torch.Tensor] = {}
    size = 0
    for name, tensor in tensors:
        if shard and size + tensor.nbytes > shard_bytes:
            files.append(_written(shard, folder, len(files) + 1))
            shard, size = {}, 0
        shard[name] = tensor.contiguous()
        size += tensor.nbytes
    if not files:
        save_file(shard, folder / _ONE_FILE, metadata={"format": "pt"})
        return
    files.append(_written(shard, folder, len(files) + 1))
    weight_map: dict[str, str] = {}
    for number, (path, names) in enumerate(files, 1):
        path = path.rename(folder / f"model-{number:05}-of-{len(files):05}.safetensors")
        weight_map |= dict.fromkeys(names, path.name)
    total = sum((folder / file).stat().st_size for file in set(weight_map.values()))
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / _INDEX).write_text(json.dumps(index, indent=2))


def _written(shard: dict[str, torch.Tensor], folder: Path, number: int) -> tuple[Path, list[str]]:
    path = folder / f"model-{number:05}.safetensors"
    save_file(shard, path, metadata={"format": "pt"})
    return path, list(shard)


_DTYPES = {
    **{"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16},
    **{"I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8},
    **{"U8": torch.uint8, "BOOL": torch.bool, "U16": torch.uint16, "U32": torch.uint32},
    **{"F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "U64": torch.uint64},
    **{"F8_E8M0": torch.float8_e8m0fnu, "C64": torch.complex64},
}
