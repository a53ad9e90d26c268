"""Where a step's time goes, kernel by kernel.

python -m gemlite_lab.bench.model.trace 8B-ours decode 1     (8B and ours, one text)
"""

import argparse
from collections import defaultdict
from dataclasses import dataclass
from functools import partial

import torch

from gemlite_edu.runners.timing import CudaGraphClock, time_replays
from gemlite_lab.bench.model.build import build
from gemlite_lab.bench.model.measure import Cell
from gemlite_lab.bench.model.parts import parts_of

_REPLAYS = 5


@dataclass(frozen=True)
class KernelTime:
    """A kernel of a step: how many launches, and the microseconds of all of them."""

    name: str
    launches: int
    us: float


@torch.no_grad()
def trace(shape, contender, cell, device):
    """(microseconds of a step, [`KernelTime`], the longest first), compiled and in a CUDA graph."""
    step = cell.step_of(build(shape, contender, device))
    clock = CudaGraphClock([partial(step.step, True)])
    us = time_replays(clock, before_each=step.reset).p50
    step.reset()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(_REPLAYS):
            clock.replay()
    return us, kernel_times(profile.events(), _REPLAYS)


def kernel_times(events, replays):
    """[`KernelTime`] of one replay, the longest first, of a profile's events of several."""
    found = defaultdict(list)
    for event in events:
        if event.device_type == torch.autograd.DeviceType.CUDA:
            found[event.name].append(event.device_time)
    of_one = [
        KernelTime(name, len(times) // replays, sum(times) / replays)
        for name, times in found.items()
    ]
    return sorted(of_one, key=lambda kernel: -kernel.us)


def table(us, kernels):
    """Lines: microseconds, part of the step, launches, kernel; at the end what no kernel took."""
    between = us - sum(kernel.us for kernel in kernels)
    lines = [f"{'us':>9} {'part':>5} {'launches':>8}  kernel of a step of {us:.0f} us"]
    lines += [f"{k.us:9.1f} {k.us / us:5.0%} {k.launches:8}  {k.name[:90]}" for k in kernels]
    return "\n".join([*lines, f"{between:9.1f} {between / us:5.0%} {'':8}  between kernels"])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", help="a shape and a contender, as in 8B-ours")
    parser.add_argument("phase", choices=("decode", "prefill"))
    parser.add_argument("size", type=int, help="texts of a decoded step, or tokens of a prefill")
    options = parser.parse_args(arguments)
    try:
        part, *others = parts_of([options.part])
    except ValueError as error:
        parser.error(str(error))
    if others:
        parser.error(f"name a shape and a contender, as in 8B-ours, got {options.part!r}")
    if not torch.cuda.is_available():
        parser.error("torch sees no CUDA GPU here, and a step is traced on one")
    print(table(*trace(*part, Cell(options.phase, options.size), torch.device("cuda"))))


if __name__ == "__main__":
    main()
