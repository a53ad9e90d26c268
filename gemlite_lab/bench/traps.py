"""Four wrong ways to measure, each beside the right one: the data of the lesson benchmarks.

python -m gemlite_lab.bench.traps      (on a GPU; writes benchmarks/data/traps_<device>.json)
"""

import json
import time
from datetime import date

import torch

from gemlite_edu.runners.timing import CudaGraphClock, copies_needed, time_replays
from gemlite_lab.bench import measurements
from gemlite_lab.bench.card import current_card

_SAMPLES = 200
_WARM_MEGABYTES = (8, 16, 24, 32, 40, 48, 64, 256)
_COLUMNS = 4096


def stored(device="NVIDIA H200"):
    """The stored result of `record` on `device`. Raises ValueError if there is none."""
    path = _path(device)
    if not path.exists():
        raise ValueError(f"there is no {path}: on that card run python -m gemlite_lab.bench.traps")
    return json.loads(path.read_text(encoding="utf-8"))


def record():
    """{trap: its numbers} of the current GPU, with its name, limits and the date.

    one_element_us: microseconds of a kernel that adds 1 to one number.
    warm_cache: microseconds per call of W times a vector of ones, that is the sums of its rows, for
        float32 W of some megabytes: with the same W in every call, and with rotating copies.
    timers: microseconds of one 8192 x 8192 fp16 matrix-vector product, by four timers.
    samples: microseconds of each of the first 200 calls of a compiled (W * 2) @ x.
    """
    card = current_card()
    one = torch.zeros(1, device="cuda")
    W = torch.randn(8192, 8192, device="cuda").half()
    x = torch.randn(8192, 1, device="cuda").half()
    return {
        "device": card.name,
        "date": str(date.today()),
        "torch": torch.__version__,
        "l2_bytes": card.l2_bytes,
        "read_gb_per_s": round(card.read_gb_per_s, 1),
        "one_element_us": round(time_replays(CudaGraphClock([lambda: one.add_(1)])).p50, 2),
        "warm_cache": [_warm_cache(megabytes, card) for megabytes in _WARM_MEGABYTES],
        "timers": _timers(lambda: W @ x),
        "samples": _samples(torch.compile(lambda: (W * 2) @ x)),
    }


def _warm_cache(megabytes, card):
    nbytes = megabytes * 2**20
    rows = nbytes // (4 * _COLUMNS)
    count = copies_needed(nbytes, card.l2_bytes)
    copies = [torch.randn(rows, _COLUMNS, device="cuda") for _ in range(count)]
    one = CudaGraphClock([lambda: copies[0].sum(1)])
    rotated = CudaGraphClock([lambda W=W: W.sum(1) for W in copies])
    return {
        "bytes": nbytes,
        "one_copy_us": round(time_replays(one).p50, 3),
        "rotated_us": round(time_replays(rotated).p50, 3),
    }


def _timers(call):
    call()
    torch.cuda.synchronize()
    return {
        "host clock, no synchronize": _by_host(call, synchronize=False),
        "host clock, synchronize": _by_host(call, synchronize=True),
        "events around each call": round(sorted(_samples(call))[_SAMPLES // 2], 2),
        "graph of calls": round(time_replays(CudaGraphClock([call])).p50, 2),
    }


def _by_host(call, synchronize):
    """Median microseconds per call, by the CPU's clock."""
    found = []
    for _ in range(_SAMPLES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        if synchronize:
            torch.cuda.synchronize()
        found.append((time.perf_counter() - start) * 1e6)
    return round(sorted(found)[_SAMPLES // 2], 2)


def _samples(call):
    """Microseconds of each of the first 200 calls, by events around each call."""
    found = []
    for _ in range(_SAMPLES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        found.append(round(start.elapsed_time(end) * 1e3, 2))
    return found


def _path(device):
    csv = measurements.path_of(device)
    return csv.with_name(csv.stem.replace("bench_", "traps_") + ".json")


if __name__ == "__main__":
    found = record()
    path = _path(found["device"])
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path}")
