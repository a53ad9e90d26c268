"""The one timer: microseconds per call, with the weights read from memory, not from a cache.

One CUDA graph captures the calls, each with its own copy of the weights; a replay runs them one
after the other without Python in between. If all copies, and everything written between, exceed
four times the L2, a copy has left the cache when its turn comes again.
"""

import gc
import math
from dataclasses import dataclass

import torch

REPLAYS = 20
_L2_MULTIPLE = 4
_FEWEST_COPIES = 4
_SHORTEST_REPLAY_US = 500  # starting a graph takes about 4 us on an H200, less than 1 % of this


@dataclass(frozen=True)
class Timing:
    """Microseconds per call: the 20th, 50th and 80th percentiles over the replays."""

    p20: float
    p50: float
    p80: float


def copies_needed(nbytes, l2_bytes):
    """How many copies of `nbytes` bytes exceed four times the L2; at least 4.

    >>> copies_needed(8_000_000, l2_bytes=60_000_000)
    31
    """
    return max(_FEWEST_COPIES, int(_L2_MULTIPLE * l2_bytes // nbytes) + 1)


class CudaGraphClock:
    """Runs `calls`, functions that return a tensor, as one captured CUDA graph.

    The graph repeats short calls for several rounds and runs long calls once, because needlessly
    long work heats the GPU, which then lowers its clock. `outputs`: the tensors that the calls
    returned in the first captured round; a replay writes the same tensors again. Raises
    RuntimeError if the calls cannot be captured.
    """

    def __init__(self, calls):
        self._stream = torch.cuda.Stream()
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            for call in calls:  # lets calls compile, tune and allocate before the capture
                call()
        torch.cuda.synchronize()
        self._capture(calls, rounds=1)
        self.replay()
        round_us = self.replay() * len(calls)
        if round_us < _SHORTEST_REPLAY_US:
            self._capture(calls, rounds=math.ceil(_SHORTEST_REPLAY_US / round_us))

    def _capture(self, calls, rounds):
        gc.collect()  # freeing an old graph during a capture would break it
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=self._stream):
            # Keep every output until the end, so that no two calls write to the same memory.
            outputs = [call() for call in calls * rounds]
        self.outputs = outputs[: len(calls)]
        self._count = len(calls) * rounds

    def replay(self):
        """Run the calls once more and wait for their end; returns microseconds per call."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self._graph.replay()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) * 1e3 / self._count


def time_replays(clock, replays=REPLAYS, before_each=lambda: None):
    """The `Timing` of `replays` replays, after one warm-up replay that is not counted.

    before_each: a function called before every replay; its time is not counted.
    """
    times = []
    for _ in range(1 + replays):
        before_each()
        times.append(clock.replay())
    counted = torch.tensor(times[1:], dtype=torch.float64)
    return Timing(*counted.quantile(torch.tensor([0.2, 0.5, 0.8], dtype=torch.float64)).tolist())
