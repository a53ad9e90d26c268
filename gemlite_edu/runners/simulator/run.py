"""Run a compiled kernel in its own process, and report an error in one sentence."""

import mmap
import os
import subprocess
import tempfile
from dataclasses import dataclass

import torch

from gemlite_edu.kernels.errors import KernelFault
from gemlite_edu.kernels.machine import SIMULATED
from gemlite_edu.runners.forbidden_calls import filter_of_calls
from gemlite_edu.runners.simulator.build import build_runner
from gemlite_edu.runners.simulator.fault_sentences import fault_sentence

_ALIGNMENT = 256
_MAX_WORKERS = 16
_POISON = 0xFF
_PRINTED_LINES = 100

MAX_THREADS = 1024  # per block
_MAX_DEPTH = 64  # of a block, in threads along z
ASLEEP = "asleep"  # stands for the report of a runner that was killed
SAME_AGAIN = ("done", "endless", ASLEEP)  # outcomes that a second run would only repeat


@dataclass(frozen=True)
class Tensor:
    """A tensor argument; the run writes an output back into `value`, and an input is read-only."""

    name: str
    value: torch.Tensor
    is_output: bool = False

    def __post_init__(self):
        if self.value.numel() == 0 or not self.value.is_contiguous() or self.value.is_cuda:
            raise ValueError(
                f"{self.name} must be a contiguous CPU tensor with at least one element, got shape "
                f"{tuple(self.value.shape)}, strides {self.value.stride()} on {self.value.device}"
            )


@dataclass(frozen=True)
class Integer:
    """A 32-bit integer argument."""

    value: int

    def __post_init__(self):
        if not -(2**31) <= self.value < 2**31:
            raise ValueError(f"an int parameter holds 32 bits, got {self.value}")


class NullPointer:
    """The null pointer, which stands for an absent tensor."""


def run_kernel(library, arguments, launch, time_limit):
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
    if status != "done":
        raise KernelFault(fault_sentence(status, tensors_by_name(arguments), time_limit, printed))


def _check_launch(launch):
    limit = SIMULATED.shared_bytes_per_block
    has_threads = len(launch.block) == 3 and min(launch.block) > 0 and launch.block[2] <= _MAX_DEPTH
    if min(launch.grid) < 1 or not (has_threads and launch.threads_per_block <= MAX_THREADS):
        raise ValueError(
            f"a launch needs at least 1 x 1 blocks, in z at most {_MAX_DEPTH} deep, of 1 to "
            f"{MAX_THREADS} threads, got {launch.grid[0]} x {launch.grid[1]} of {launch.threads}"
        )
    if not 0 <= launch.shared_bytes <= limit:
        raise ValueError(f"shared_bytes must be from 0 to {limit}, got {launch.shared_bytes}")


def count_workers(launch):
    """OS threads for a launch: as many as torch uses, but at most one per block."""
    blocks = launch.grid[0] * launch.grid[1]
    return min(torch.get_num_threads(), blocks, _MAX_WORKERS)


def tensors_by_name(arguments):
    """{name: torch.Tensor} of the arguments that are tensors."""
    return {a.name: a.value for a in arguments if isinstance(a, Tensor)}


def run_once(library, arguments, launch, time_limit, workers, sites="-"):
    """(the runner's report, or ASLEEP if it had to be killed; the lines that the kernel printed).

    sites: path of an instrumented kernel's sites.txt. Outputs are written only if the report ends
    with "done".
    """
    _check_launch(launch)
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    offsets, total = _layout(tensors)
    memory = os.memfd_create("gemlite_edu")
    try:
        os.ftruncate(memory, max(total, mmap.PAGESIZE))
        with mmap.mmap(memory, max(total, mmap.PAGESIZE)) as room:
            _write(room, tensors, offsets)
            limit = SIMULATED.shared_bytes_per_block
            numbers = [*launch.grid, *launch.block, launch.shared_bytes, limit]
            words = [time_limit, workers, *numbers, *_argument_words(arguments, offsets)]
            command = [build_runner(), library, memory, sites, filter_of_calls().hex(), *words]
            report, printed = _spawn(command, memory, wall_limit(time_limit))
            if report.endswith("done"):
                _read(room, tensors, offsets)
            return report, printed
    finally:
        os.close(memory)


def _layout(tensors):
    offsets, total = {}, 0
    for tensor in tensors:
        offsets[tensor.name] = total
        total += _region_bytes(tensor)
    return offsets, total


def _round_up(value, unit):
    return -(-value // unit) * unit


def _region_bytes(tensor):
    return _round_up(_round_up(tensor.value.nbytes, _ALIGNMENT), mmap.PAGESIZE)


def _bytes_in(room, tensor, offset):
    """The tensor's bytes in the shared memory, placed as close to the end of its pages as possible.

    Tensors start at multiples of 256 bytes, which limits how close.
    """
    start = offset + _region_bytes(tensor) - _round_up(tensor.value.nbytes, _ALIGNMENT)
    return torch.frombuffer(room, dtype=torch.uint8, count=tensor.value.nbytes, offset=start)


def _flat_bytes(value):
    # A contiguous tensor of one element may still have a stride other than 1, which view refuses.
    return value.as_strided((value.numel(),), (1,)).view(torch.uint8)


def _write(room, tensors, offsets):
    torch.frombuffer(room, dtype=torch.uint8).fill_(_POISON)
    for tensor in tensors:
        _bytes_in(room, tensor, offsets[tensor.name]).copy_(_flat_bytes(tensor.value))


def _read(room, tensors, offsets):
    for tensor in tensors:
        if tensor.is_output:
            _flat_bytes(tensor.value).copy_(_bytes_in(room, tensor, offsets[tensor.name]))


def _argument_words(arguments, offsets):
    for argument in arguments:
        if isinstance(argument, Integer):
            yield f"i:{argument.value}"
        elif isinstance(argument, NullPointer):
            yield "n"
        else:
            access = "w" if argument.is_output else "r"
            size = argument.value.nbytes
            each = argument.value.element_size()
            yield f"p:{argument.name}:{offsets[argument.name]}:{size}:{each}:{access}"


def wall_limit(time_limit):
    """Seconds after which a runner that sleeps, and so never uses its processor time, is killed."""
    return 60 + 20 * time_limit


def _spawn(command, memory, seconds):
    """(the runner's report or ASLEEP, the text that the kernel printed)."""
    with tempfile.TemporaryFile() as printed:
        status = ASLEEP
        try:
            result = subprocess.run(
                [str(word) for word in command],
                pass_fds=[memory],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,  # with a pipe to read, run() waits without polling
                stderr=printed,
                timeout=seconds,
                start_new_session=True,
            )
            status = result.stdout.decode(errors="replace") or f"ended {result.returncode}"
        except subprocess.TimeoutExpired:
            pass
        printed.seek(0)
        return status, printed.read().decode(errors="replace")


def show_what_it_printed(text, advice=": print from one thread alone"):
    """Print the lines that the kernel printed, but only the first ones if they are many.

    advice: how to print fewer.
    """
    lines = text.splitlines()
    for line in lines[:_PRINTED_LINES]:
        print(line)
    if len(lines) > _PRINTED_LINES:
        print(f"... and {len(lines) - _PRINTED_LINES} more lines{advice}")
