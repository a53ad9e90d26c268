"""What a measurement asks the GPU: clocks and memory. Tests put others in their place."""

import gc
from dataclasses import dataclass

import torch

from gemlite_edu.runners.timing import CudaGraphClock


class EventClock:
    """Runs one call as torch runs it, and times it by CUDA events, the host's work included."""

    def __init__(self, calls):
        (self._call,) = calls
        self._call()  # lets it compile and tune

    def replay(self):
        """Call once more and wait for the end; returns microseconds."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        self._call()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) * 1e3


class CudaMemory:
    """The bytes that tensors take on the GPU, those of CUDA graphs included."""

    @staticmethod
    def held():
        """What is in use, without what nobody can reach any more."""
        gc.collect()
        return torch.cuda.memory_allocated()

    @staticmethod
    def reset():
        """Give back what nobody uses, and begin a new peak."""
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    @staticmethod
    def peak():
        return torch.cuda.max_memory_allocated()


@dataclass(frozen=True)
class Gauges:
    """graph_clock: makes a clock of calls that it captures. as_is_clock: of a call as it is.

    compiles: whether torch.compile prepares the captured steps.
    """

    graph_clock: type = CudaGraphClock
    as_is_clock: type = EventClock
    memory: type = CudaMemory
    compiles: bool = True
