"""Floor 4: which config of a kernel is fast on this GPU for these shapes: measured, kept, shared.

A file of configs is JSON: the device, the versions of triton and of the kernels' texts that they
were measured with, and {key: config}. It says nothing about another device or version.
"""

import hashlib
import io
import json
import os
import tempfile
import tokenize
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from gemlite_edu.dtypes import name_of
from gemlite_edu.timing import CudaGraphClock, copies_needed, time_replays
from gemlite_edu.triton_kernels import FOLDER
from gemlite_edu.triton_kernels.configs import NAMES, candidates, default_config

_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_MOST_COPIES = 64
_SHIPPED = Path(__file__).parent / "data"

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
    device = torch.cuda.get_device_name(x.device)
    known, key = _known(device), key_of(name, x, weight, dot_dtype)
    if key not in known:
        if not _measures or torch.cuda.is_current_stream_capturing():
            return default_config(name, bucket(M), N, interpreted=False)
        known[key] = measured(name, x, weight, run)
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
    """The fastest of the candidates; a default if the GPU has no memory left to try them.

    As many copies of the weights take turns as it takes for none to stay in the L2, or 64.
    """
    with torch.cuda.device_of(x):
        try:
            return _fastest(name, x, weight, run)
        except torch.OutOfMemoryError:
            return default_config(name, len(x), weight.N, interpreted=False)


def _fastest(name, x, weight, run):
    M = bucket(len(x))
    x = x.new_zeros((M, x.shape[1]))
    l2_bytes = torch.cuda.get_device_properties(x.device).L2_cache_size
    copies = min(copies_needed(weight.words.nbytes, l2_bytes), _MOST_COPIES)
    weights = [_cloned(weight) for _ in range(copies)]
    times = {}
    for number, config in enumerate(choices := candidates(name, M, weight.N)):
        try:
            clock = CudaGraphClock([lambda w=w, c=config: run(x, w, c) for w in weights])
            times[number] = time_replays(clock, replays=3).p50
        except Exception as error:  # triton's own, of many kinds: too little shared memory, say
            if "OutOfResources" not in type(error).__name__:
                raise
    if not times:
        return default_config(name, M, weight.N, interpreted=False)
    return choices[min(times, key=times.get)]


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

    One from another device, triton, or version of the kernels is left aside with a notice.
    Raises ValueError for a file that `save` did not write.
    """
    device = _device()
    _known(device).update(_usable(path, device))


def _usable(path, device):
    """The configs of a file, or none and a notice, if it is about something else."""
    content = _read(path)
    for what, here in _about(device).items():
        if content[what] != here:
            print(f"{path} is not used: its {what} is {content[what]}, here it is {here}")
            return {}
    return content["configs"]


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
    return {"device": device, "triton": triton, "kernels": kernels_hash()}


@cache
def kernels_hash():
    """A name for the kernels' texts as they are now."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py")))
    tokens = [token for text in texts if "@triton.jit" in text for token in _tokens(text)]
    return hashlib.sha256(" ".join(tokens).encode()).hexdigest()[:16]


def _tokens(text):
    """What a compiler sees of a text: no comments, no docstrings, no line breaks."""
    unseen = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in unseen and not token.string.startswith('"""'):
            yield token.string


def _read(path):
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        names = {"device", "triton", "kernels", "configs"}
        good = content.keys() == names and all(map(_is_config, content["configs"].values()))
    except (ValueError, AttributeError, RecursionError):
        good = False
    if not good:
        raise ValueError(
            f"{path} is damaged or no file of configs: write a new one with "
            "GemLiteLinear.cache_config(path)"
        )
    return content


def _is_config(config):
    return (
        config.keys() == set(NAMES)
        and all(
            isinstance(value, int) and not isinstance(value, bool) and value > 0
            for value in config.values()
        )
        and all(config[name].bit_count() == 1 for name in ("BLOCK_M", "BLOCK_N", "num_warps"))
    )
