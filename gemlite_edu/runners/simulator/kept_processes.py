"""Keep kernels' processes alive between their launches, where the caller asks for it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from gemlite_edu.runners.simulator.runner_process import RunnerProcess

_MOST = 8  # processes that one `kept_alive` keeps
# {what a process is for: it}, the latest used last
_kept: ContextVar[dict[Any, RunnerProcess] | None] = ContextVar("kept", default=None)


@contextmanager
def kept_alive() -> Iterator[None]:
    """Inside this context the simulator keeps a kernel's process for the kernel's next call.

    A model of many layers then starts a process for each kernel and not for each call. Every launch
    has its own time limit, copies of its tensors, and fresh shared memory, heap, and static and
    __device__ variables. What a kernel leaves elsewhere in its process may reach its next launch:
    in a local variable that is read before it is written, or through a wild pointer. A fault ends
    the process, and the context ends all of them. Inspected runs and the checker use no kept one.

    >>> import torch
    >>> from gemlite_edu import load, simulator
    >>> kernel, x = load("gemv_a16w16_warp"), torch.ones(1, 64).half()
    >>> with simulator.kept_alive():
    ...     ys = [kernel(x, n * torch.eye(64).half()) for n in range(4)]
    >>> [y[0, 0].item() for y in ys]
    [0.0, 1.0, 2.0, 3.0]
    """
    if _kept.get() is not None:
        yield
        return
    kept: dict[Any, RunnerProcess] = {}
    token = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(token)
        for process in kept.values():
            process.end()


@contextmanager
def borrowed(
    library: Path, block: tuple[int, ...], workers: int, sites: str | Path = "-"
) -> Iterator[RunnerProcess]:
    """A `RunnerProcess` for one launch: a kept one, if this context keeps such a process."""
    kept = _kept.get() if sites == "-" else None
    what_for = os.getpid(), library, block, workers  # a fork of this process takes none of its own
    process = kept.pop(what_for, None) if kept else None
    process = process or RunnerProcess(library, block, workers, sites)
    try:
        yield process
    finally:
        if kept is None or not process.can_go_on:
            process.end()
        else:
            _keep(kept, what_for, process)


def _keep(kept: dict[Any, RunnerProcess], what_for: Any, process: RunnerProcess) -> None:
    kept[what_for] = process
    if len(kept) > _MOST:
        kept.pop(next(iter(kept))).end()
