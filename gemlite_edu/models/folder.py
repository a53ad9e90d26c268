"""A folder that holds a model: written whole or not at all, and its config.json."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

QUANT_METHOD = "gemlite_edu"
_VERSION = 1  # of the layout


def checked_path(folder: str | os.PathLike[str]) -> Path:
    """`folder` as a Path; TypeError unless it is a str or an os.PathLike."""
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"folder must be a path, a str or os.PathLike, got {type(folder).__name__}")
    return Path(folder)


def counted(names: Iterable[str], kind: str = "tensor") -> str:
    """How many of this kind these are, in words, and the first of them."""
    first, *others = sorted(names)
    return f"{1 + len(others)} {kind}s, the first is {first}" if others else f"1 {kind}: {first}"


@contextmanager
def new_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write to, which gets the name `folder` at the end if nothing was raised.

    Raises ValueError if there already is something of that name, other than an empty folder, or a
    file where a folder above it must be.
    """
    folder = checked_path(folder)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ValueError(f"{folder} already exists: remove it, or choose another name")
    above = next(path for path in folder.absolute().parents if path.exists())
    if not above.is_dir():
        raise ValueError(f"{folder} cannot be made, because {above} is a file: choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield unfinished
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def quantization_config() -> dict[str, str | int]:
    """What config.json says about the layers; everything else is in the tensors."""
    return {"quant_method": QUANT_METHOD, "version": _VERSION}


def check_quantization_config(found: object, where: object) -> None:
    """Raise ValueError unless `found` is a `quantization_config` of this package."""
    if not isinstance(found, dict) or found.get("quant_method") != QUANT_METHOD:
        method = found.get("quant_method") if isinstance(found, dict) else None
        raise ValueError(
            f"{where} was not written by save_quantized: its quant_method is {method!r}; "
            "load_checkpoint reads folders of gptq, awq and hqq"
        )
    if found.get("version") != _VERSION:
        raise ValueError(
            f"{where} has version {found.get('version')!r} of the layout, and this gemlite_edu "
            f"reads {_VERSION}: use the gemlite_edu that wrote it"
        )


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The object in a JSON file; ValueError if it is missing or damaged."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path.parent} has no {path.name}: is it the right folder, and complete?")
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is damaged or half written: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must be a JSON object, got {type(content).__name__}")
    return content
