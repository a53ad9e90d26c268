"""Measure, remember and share the fastest config of each kernel for a GPU and a shape.

A file of configs is JSON. It records {key: config}, and the conditions of the measurement: the
device, the triton version and {kernel: hash of its text}. The configs hold only under those.
"""

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import torch

from gemlite_edu.kernels.triton import INT4_KERNELS
from gemlite_edu.kernels.triton.configs import NAMES, Config, candidates, default_config
from gemlite_edu.kernels.triton.hashes import kernel_hashes
from gemlite_edu.kernels.triton.mixed_mm_configs import check_config
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.operators.weight import PackedWeight
from gemlite_edu.runners.timing import CudaGraphClock, copies_needed, time_replays

_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_MOST_COPIES = 64
_SHIPPED = Path(__file__).parent.parent / "data"

Weight = TypeVar("Weight")

_configs: dict[str, dict[str, Config]] = {}  # {device name: {key: config}}
_measures = True


def set_autotune(on: bool) -> None:
    """Switch tuning on or off: when on, a kernel's first call with new shapes takes seconds."""
    global _measures
    _measures = bool(on)


def bucket(M: int) -> int:
    """The M under which configs are stored: M rounded up to a power of two, at most 4096.

    >>> [bucket(M) for M in (1, 3, 100, 5000)]
    [1, 4, 128, 4096]
    """
    return next((limit for limit in _BUCKETS if M <= limit), _BUCKETS[-1])


def config_for(
    name: str,
    x: torch.Tensor,
    weight: PackedWeight,
    run: Callable[[torch.Tensor, PackedWeight, Config], object],
    dot_dtype: torch.dtype = torch.float32,
) -> Config:
    """The config of kernel `name` for x (M, K): a known one, or the fastest measured now.

    run(x, weight, config): computes the product to tune. The CPU gets a default; so does an unknown
    shape during a CUDA-graph capture or after `set_autotune(False)`.
    """
    M, N = len(x), weight.N
    if x.device.type != "cuda":
        return default_config(name, M, N, interpreted=True)
    return known_or_measured(
        x.device,
        key_of(name, x, weight, dot_dtype),
        lambda: default_config(name, bucket(M), N, interpreted=False),
        lambda: measured(name, x, weight, run),
    )


def known_or_measured(
    device: torch.device, key: str, default: Callable[[], Config], measure: Callable[[], Config]
) -> Config:
    """The known config for `key` on a CUDA device; otherwise measure it and remember the result.

    During a CUDA-graph capture, or after `set_autotune(False)`, an unknown key gets default(),
    which is not remembered.
    """
    known = _known(torch.cuda.get_device_name(device))
    if key not in known:
        if not _measures or torch.cuda.is_current_stream_capturing():
            return default()
        known[key] = measure()
    return known[key]


def key_of(
    name: str, x: torch.Tensor, weight: PackedWeight, dot_dtype: torch.dtype = torch.float32
) -> str:
    """The key of a config: kernel, shapes and dtypes, as a config file names them."""
    layout, high = weight.layout, "" if weight.high is None else "+high"
    group = layout.group_size or "channel"
    words = name_of(weight.words.dtype) + high
    types = f"{name_of(x.dtype)} x {layout.nbits or ''}{words}"
    shape = f"M{bucket(len(x))} N{weight.N} K{layout.K}"
    dot = "" if dot_dtype == torch.float32 else f" in {name_of(dot_dtype)}"
    return f"{name} {shape} group {group} {types} {weight.mode.name}{dot}"


def measured(
    name: str,
    x: torch.Tensor,
    weight: PackedWeight,
    run: Callable[[torch.Tensor, PackedWeight, Config], object],
) -> Config:
    """The fastest candidate, or a default if the GPU has too little memory to try them."""
    with torch.cuda.device_of(x):
        try:
            return _fastest(name, x, weight, run)
        except torch.OutOfMemoryError:
            return default_config(name, len(x), weight.N, interpreted=False)


def _fastest(
    name: str,
    x: torch.Tensor,
    weight: PackedWeight,
    run: Callable[[torch.Tensor, PackedWeight, Config], object],
) -> Config:
    M = bucket(len(x))
    x = x.new_zeros((M, x.shape[1]))
    weights = copies_beyond_l2(weight, weight.words.nbytes, _cloned, x.device)
    found = fastest(candidates(name, M, weight.N), weights, lambda w, config: run(x, w, config))
    return found or default_config(name, M, weight.N, interpreted=False)


def copies_beyond_l2(
    weight: Weight, nbytes: int, clone: Callable[[Weight], Weight], device: torch.device
) -> list[Weight]:
    """Enough copies of a weight that none stays in the L2 between its uses; at most 64."""
    l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size
    return [clone(weight) for _ in range(min(copies_needed(nbytes, l2_bytes), _MOST_COPIES))]


def fastest(
    configs: Sequence[Config], weights: Sequence[Weight], run: Callable[[Weight, Config], object]
) -> Config | None:
    """The config that makes run(weight, config) fastest; None if the GPU can run none of them."""
    times = {}
    for number, config in enumerate(configs):
        try:
            clock = CudaGraphClock([lambda w=w, c=config: run(w, c) for w in weights])
            times[number] = time_replays(clock, replays=3).p50
        except Exception as error:  # triton has several, e.g. for too little shared memory
            if "OutOfResources" not in type(error).__name__:
                raise
    return configs[min(times, key=times.__getitem__)] if times else None


def _cloned(weight: PackedWeight) -> PackedWeight:
    high = None if weight.high is None else weight.high.clone()
    return replace(weight, words=weight.words.clone(), high=high)


def save(path: str | os.PathLike[str]) -> None:
    """Write all known configs of the current device to `path`; a failure leaves no partial file."""
    device = _device()
    content = _about(device) | {"configs": _known(device)}
    folder = os.path.dirname(os.path.abspath(path))
    handle, unfinished = tempfile.mkstemp(dir=folder, suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def load(path: str | os.PathLike[str]) -> None:
    """Use the configs of a file that `GemLiteLinear.cache_config` wrote.

    Skips, with a notice, configs from another device or triton version, and configs of kernels
    whose text has changed since. Raises ValueError for a file that `save` did not write.
    """
    device = _device()
    _known(device).update(_usable(path, device))


def _usable(path: str | os.PathLike[str], device: str) -> dict[str, Config]:
    """The configs of a file that apply here; prints a notice if some do not."""
    content, about = _read(path), _about(device)
    for what in ("device", "triton"):
        if content[what] != about[what]:
            print(f"{path} is not used: its {what} is {content[what]}, here it is {about[what]}")
            return {}
    unchanged = dict(content["kernels"].items() & about["kernels"].items())
    configs = {k: config for k, config in content["configs"].items() if _kernel_of(k) in unchanged}
    if len(configs) < len(content["configs"]):
        others = {_kernel_of(key) for key in content["configs"]} - unchanged.keys()
        print(f"{path}: no config of {', '.join(sorted(others))} is used: changed since")
    return configs


def _kernel_of(key: str) -> str:
    return key.partition(" ")[0]


def reset() -> None:
    """Forget all configs of every device seen so far, including the shipped ones."""
    for device in {*_configs, _device()}:
        _configs[device] = {}


def _known(device: str) -> dict[str, Config]:
    """{key: config} of a device, which starts with the shipped configs."""
    if device not in _configs:
        _configs[device] = {}
        shipped = _SHIPPED / f"triton_configs_{device.replace(' ', '_').lower()}.json"
        if shipped.exists():
            _configs[device] |= _usable(shipped, device)
    return _configs[device]


def _device() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def _umask() -> int:
    """The process's umask, which can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _about(device: str) -> dict[str, Any]:
    try:
        triton = version("triton")
    except PackageNotFoundError:
        triton = "not installed"
    return {"device": device, "triton": triton, "kernels": kernel_hashes()}


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        names = {"device", "triton", "kernels", "configs"}
        good = content.keys() == names and all(
            _is_config(key, config) for key, config in content["configs"].items()
        )
        good = good and content["kernels"].keys() >= set(map(_kernel_of, content["configs"]))
    except (ValueError, AttributeError, RecursionError):
        good = False
    if not good:
        raise ValueError(
            f"{path} is damaged or no file of configs: write a new one with "
            "GemLiteLinear.cache_config(path)"
        )
    return content


def _is_config(key: str, config: dict[str, Any]) -> bool:
    if _kernel_of(key) in INT4_KERNELS:
        check_config(config)
        return True
    return (
        config.keys() == set(NAMES)
        and all(
            isinstance(value, int) and not isinstance(value, bool) and value > 0
            for value in config.values()
        )
        and all(config[name].bit_count() == 1 for name in ("BLOCK_M", "BLOCK_N", "num_warps"))
    )
