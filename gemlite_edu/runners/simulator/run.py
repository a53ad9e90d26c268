"""Run a compiled kernel in its own process, and report an error in one sentence."""

from collections.abc import Sequence
from pathlib import Path

import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.kernels.machine import SIMULATED
from gemlite_edu.kernels.plan import Launch
from gemlite_edu.runners.simulator.arguments import Argument, Tensor
from gemlite_edu.runners.simulator.fault_sentences import fault_sentence
from gemlite_edu.runners.simulator.kept_processes import borrowed
from gemlite_edu.runners.simulator.record import NO_WINDOW, Window
from gemlite_edu.runners.simulator.runner_process import ASLEEP, DONE

_MAX_WORKERS = 16
_PRINTED_LINES = 100

MAX_THREADS = 1024  # per block
_MAX_DEPTH = 64  # of a block, in threads along z
SAME_AGAIN = (DONE, "endless", ASLEEP)  # outcomes that a second run would only repeat


def run_kernel(
    library: Path, arguments: Sequence[Argument], launch: Launch, time_limit: float
) -> None:
    """Launch the kernel in `library` (from `build_kernel`) with `arguments` in order.

    time_limit: seconds of processor time per worker. Outputs are written in place.
    Raises KernelFault with a sentence if the kernel writes outside a tensor, to an input or beyond
    its dynamic shared memory, accesses memory far outside a tensor, has lanes that wait forever, or
    exceeds the time limit. A read up to 255 bytes past a tensor is not caught but returns NaN,
    because tensors start at multiples of 256 bytes.
    """
    workers = count_workers(launch)
    status, printed = run_once(library, arguments, launch, time_limit, workers)
    if status not in SAME_AGAIN and workers > 1:
        # One worker finds the faults in the order of the blocks, so the message is always the same.
        again, printed = run_once(library, arguments, launch, time_limit, workers=1)
        status = status if again in SAME_AGAIN else again
    show_what_it_printed(printed)
    if status != DONE:
        raise KernelFault(fault_sentence(status, tensors_by_name(arguments), time_limit, printed))


def _check_launch(launch: Launch) -> None:
    limit = SIMULATED.shared_bytes_per_block
    has_threads = len(launch.block) == 3 and min(launch.block) > 0 and launch.block[2] <= _MAX_DEPTH
    if min(launch.grid) < 1 or not (has_threads and launch.threads_per_block <= MAX_THREADS):
        raise ValueError(
            f"a launch needs at least 1 x 1 blocks, in z at most {_MAX_DEPTH} deep, of 1 to "
            f"{MAX_THREADS} threads, got {launch.grid[0]} x {launch.grid[1]} of {launch.threads}"
        )
    if not 0 <= launch.shared_bytes <= limit:
        raise ValueError(f"shared_bytes must be from 0 to {limit}, got {launch.shared_bytes}")


def count_workers(launch: Launch) -> int:
    """OS threads for a launch: as many as torch uses, but at most one per block."""
    blocks = launch.grid[0] * launch.grid[1]
    return min(torch.get_num_threads(), blocks, _MAX_WORKERS)


def tensors_by_name(arguments: Sequence[Argument]) -> dict[str, torch.Tensor]:
    """{name: torch.Tensor} of the arguments that are tensors."""
    return {a.name: a.value for a in arguments if isinstance(a, Tensor)}


def run_once(
    library: Path,
    arguments: Sequence[Argument],
    launch: Launch,
    time_limit: float,
    workers: int,
    sites: str | Path = "-",
    order: int = 0,
    window: Window = NO_WINDOW,
    spoiled: int = 0,
) -> tuple[str, str]:
    """(the runner's report, or ASLEEP if it had to be killed; the lines that the kernel printed).

    sites: path of an instrumented kernel's sites.txt. order: 0 for lanes in lock step, or a number
    that draws another order of an instrumented kernel's lanes. window: the steps that an
    instrumented kernel records. spoiled: what is spoiled on purpose, as in runner/spoiled.h.
    Outputs are written only if the report ends with "done".
    """
    _check_launch(launch)
    with borrowed(library, launch.block, workers, sites) as runner:
        seconds = wall_limit(time_limit)
        return runner.launch(launch, arguments, time_limit, seconds, order, window, spoiled)


def wall_limit(time_limit: float) -> float:
    """Seconds after which a runner that sleeps, and so never uses its processor time, is killed."""
    return 60 + 20 * time_limit


def show_what_it_printed(text: str, advice: str = ": print from one thread alone") -> None:
    """Print the lines that the kernel printed, but only the first ones if they are many.

    advice: how to print fewer.
    """
    lines = text.splitlines()
    for line in lines[:_PRINTED_LINES]:
        print(line)
    if len(lines) > _PRINTED_LINES:
        print(f"... and {len(lines) - _PRINTED_LINES} more lines{advice}")
