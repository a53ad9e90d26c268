"""Which config of a kernel is fast on this GPU for these shapes: measured, kept, shared.

A file of configs is JSON: the device, the version of triton and {kernel: a hash of its text} that
they were measured with, and {key: config}. It says nothing about another device, version or text.
"""

import json
import os
import tempfile
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from gemlite_edu.kernels.triton import INT4_KERNELS
from gemlite_edu.kernels.triton.configs import NAMES, candidates, default_config
from gemlite_edu.kernels.triton.hashes import kernel_hashes
from gemlite_edu.kernels.triton.mixed_mm_configs import check_config
from gemlite_edu.numbers.dtypes import name_of
from gemlite_edu.runners.timing import CudaGraphClock, copies_needed, time_replays

_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_MOST_COPIES = 64
_SHIPPED = Path(__file__).parent.parent / "data"

_configs = {}  # {device name: {key: config}}
_measures = True


def set_autotune(on):
    """Whether a kernel that meets new shapes is measured first, which takes seconds."""
    global _measures
    _measures = bool(on)


def bucket(M):
    """The M that stands for this one: the next power of two, 4096 at most.

    >>> [bucket(M) for M in (1, 3, 100, 5000)]
    [1, 4, 128, 4096]
    """
    return next((limit for limit in _BUCKETS if M <= limit), _BUCKETS[-1])


def config_for(name, x, weight, run, dot_dtype=torch.float32):
    """The config of kernel `name` for x (M, K): known, or measured now; a default on the CPU.

    run(x, weight, config): the product that is to be fast. While a CUDA graph is captured, or
    after `set_autotune(False)`, an unknown one is not measured.
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


def known_or_measured(device, key, default, measure):
    """The config that is known for `key` on a CUDA device, or measure(), which is kept.

    While a CUDA graph is captured, or after `set_autotune(False)`: default(), which is not.
    """
    known = _known(torch.cuda.get_device_name(device))
    if key not in known:
        if not _measures or torch.cuda.is_current_stream_capturing():
            return default()
        known[key] = measure()
    return known[key]


def key_of(name, x, weight, dot_dtype=torch.float32):
    """What a config was measured for, as the text that a file has it under."""
    layout, high = weight.layout, "" if weight.high is None else "+high"
    group = layout.group_size or "channel"
    words = name_of(weight.words.dtype) + high
    types = f"{name_of(x.dtype)} x {layout.nbits or ''}{words}"
    shape = f"M{bucket(len(x))} N{weight.N} K{layout.K}"
    dot = "" if dot_dtype == torch.float32 else f" in {name_of(dot_dtype)}"
    return f"{name} {shape} group {group} {types} {weight.mode.name}{dot}"


def measured(name, x, weight, run):
    """The fastest of the candidates; a default if the GPU has no memory left to try them."""
    with torch.cuda.device_of(x):
        try:
            return _fastest(name, x, weight, run)
        except torch.OutOfMemoryError:
            return default_config(name, len(x), weight.N, interpreted=False)


def _fastest(name, x, weight, run):
    M = bucket(len(x))
    x = x.new_zeros((M, x.shape[1]))
    weights = copies_beyond_l2(weight, weight.words.nbytes, _cloned, x.device)
    found = fastest(candidates(name, M, weight.N), weights, lambda w, config: run(x, w, config))
    return found or default_config(name, M, weight.N, interpreted=False)


def copies_beyond_l2(weight, nbytes, clone, device):
    """As many copies of a weight as it takes for none to stay in the L2, or 64."""
    l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size
    return [clone(weight) for _ in range(min(copies_needed(nbytes, l2_bytes), _MOST_COPIES))]


def fastest(configs, weights, run):
    """The config with which run(weight, config) is fastest; None if the GPU can run none."""
    times = {}
    for number, config in enumerate(configs):
        try:
            clock = CudaGraphClock([lambda w=w, c=config: run(w, c) for w in weights])
            times[number] = time_replays(clock, replays=3).p50
        except Exception as error:  # triton's own, of many kinds: too little shared memory, say
            if "OutOfResources" not in type(error).__name__:
                raise
    return configs[min(times, key=times.get)] if times else None


def _cloned(weight):
    high = None if weight.high is None else weight.high.clone()
    return replace(weight, words=weight.words.clone(), high=high)


def save(path):
    """Write every config known for the current device to `path`: the whole file, or none."""
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


def load(path):
    """Use the configs of a file that `save` wrote.

    Those from another device or triton, or of kernels whose text has changed since, are left aside
    with a notice.
    Raises ValueError for a file that `save` did not write.
    """
    device = _device()
    _known(device).update(_usable(path, device))


def _usable(path, device):
    """The configs of a file that hold here, and a notice, if some or all do not."""
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


def _kernel_of(key):
    return key.partition(" ")[0]


def reset():
    """Forget every config of this device and of those met, the shipped ones too."""
    for device in {*_configs, _device()}:
        _configs[device] = {}


def _known(device):
    """{key: config} of a device, the shipped ones for a start."""
    if device not in _configs:
        _configs[device] = {}
        shipped = _SHIPPED / f"triton_configs_{device.replace(' ', '_').lower()}.json"
        if shipped.exists():
            _configs[device] |= _usable(shipped, device)
    return _configs[device]


def _device():
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def _umask():
    """What files are not allowed here; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _about(device):
    try:
        triton = version("triton")
    except PackageNotFoundError:
        triton = "not installed"
    return {"device": device, "triton": triton, "kernels": kernel_hashes()}


def _read(path):
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


def _is_config(key, config):
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
