"""The one timer. Microseconds per call, with nothing of the weights left in a cache.

The calls, each over its own copy of the weights, are captured in one CUDA graph; a replay runs them
one after the other, with no Python between. Where all copies, and what is written between, are more
than four times the L2, a copy has left the cache when its turn comes again.
"""

import gc
import math
from dataclasses import dataclass

import torch

REPLAYS = 20
_L2_MULTIPLE = 4
_FEWEST_COPIES = 4
_SHORTEST_REPLAY_US = 500  # starting a graph takes about 4 us on an H200: less than 1 % of this


@dataclass(frozen=True)
class Timing:
    """Microseconds per call: the 20th, 50th and 80th percentile over the replays."""

    p20: float
    p50: float
    p80: float


def copies_needed(nbytes, l2_bytes):
    """How many copies of `nbytes` bytes are more than four times the L2; at least 4.

    >>> copies_needed(8_000_000, l2_bytes=60_000_000)
    31
    """
    return max(_FEWEST_COPIES, int(_L2_MULTIPLE * l2_bytes // nbytes) + 1)


class CudaGraphClock:
    """Runs `calls`, functions that return a tensor, as one captured CUDA graph.

    Short calls go round in it several times, long ones once: long work for longer than needed
    heats the card, which then lowers its clock. `outputs`: what the calls returned in the first
    round while they were captured; a replay writes these same tensors. Raises RuntimeError if they
    cannot be captured.
    """

    def __init__(self, calls):
        self._stream = torch.cuda.Stream()
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            for call in calls:  # compiles, tunes, and allocates what stays allocated
                call()
        torch.cuda.synchronize()
        self._capture(calls, rounds=1)
        self.replay()
        round_us = self.replay() * len(calls)
        if round_us < _SHORTEST_REPLAY_US:
            self._capture(calls, rounds=math.ceil(_SHORTEST_REPLAY_US / round_us))

    def _capture(self, calls, rounds):
        gc.collect()  # an old graph that python frees during a capture would break it
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=self._stream):
            # All are kept until the end, so that no two calls write to the same place.
            outputs = [call() for call in calls * rounds]
        self.outputs = outputs[: len(calls)]
        self._count = len(calls) * rounds

    def replay(self):
        """Run the calls once more, to their end; returns microseconds per call."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self._graph.replay()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) * 1e3 / self._count


def time_replays(clock, replays=REPLAYS, before_each=lambda: None):
    """The `Timing` of `replays` replays, after one that is not counted.

    before_each: called before every replay; its time is not counted.
    """
    times = []
    for _ in range(1 + replays):
        before_each()
        times.append(clock.replay())
    counted = torch.tensor(times[1:], dtype=torch.float64)
    return Timing(*counted.quantile(torch.tensor([0.2, 0.5, 0.8], dtype=torch.float64)).tolist())
