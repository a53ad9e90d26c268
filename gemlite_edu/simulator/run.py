"""Run a compiled kernel in a process of its own, and say in one sentence what went wrong."""

import mmap
import os
import subprocess
import tempfile
from dataclasses import dataclass

import torch

from gemlite_edu.devices import SIMULATED_CAPABILITY, shared_bytes_per_block
from gemlite_edu.errors import KernelFault
from gemlite_edu.simulator.build import build_runner

_ALIGNMENT = 256
_MAX_WORKERS = 16
_POISON = 0xFF
_PRINTED_LINES = 100
_WILD = "reached memory that is neither a tensor's nor shared: look at its pointers and indices"
_SIGNALS = {
    4: "undefined behaviour, such as a division by zero",
    6: "an abort",
    8: "an integer division by zero",
}


@dataclass(frozen=True)
class Tensor:
    """A tensor argument; an output is written back into `value`, an input is read-only."""

    name: str
    value: torch.Tensor
    is_output: bool = False


@dataclass(frozen=True)
class Integer:
    """A 32-bit integer argument."""

    value: int


@dataclass(frozen=True)
class Launch:
    """grid: (x, y) blocks; threads: per block; shared_bytes: dynamic shared memory per block."""

    grid: tuple[int, int]
    threads: int
    shared_bytes: int = 0


def run_kernel(library, arguments, launch, time_limit):
    """Launch the kernel in `library` (from `build_kernel`) with `arguments` in order.

    time_limit: seconds. Outputs are written in place.
    Raises KernelFault with a sentence for a write outside a tensor, to an input or beyond the
    dynamic shared memory, an access well outside, lanes that wait for ever, or no end in time.
    A read up to 255 bytes past a tensor finds NaN instead: tensors start at multiples of 256 bytes.
    """
    blocks = launch.grid[0] * launch.grid[1]
    workers = min(len(os.sched_getaffinity(0)), blocks, _MAX_WORKERS)
    fault, printed = _run_once(library, arguments, launch, time_limit, workers)
    if fault and fault != _too_long(time_limit) and workers > 1:
        # One worker meets the faults in the order of the blocks: the message is always the same.
        again, printed = _run_once(library, arguments, launch, time_limit, workers=1)
        fault = fault if again in (None, _too_long(time_limit)) else again
    _show_what_it_printed(printed.splitlines())
    if fault:
        raise KernelFault(fault)


def _run_once(library, arguments, launch, time_limit, workers):
    """(one sentence about the first fault, or None; what the kernel printed)."""
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    offsets, total = _layout(tensors)
    memory = os.memfd_create("gemlite_edu")
    try:
        os.ftruncate(memory, total)
        with mmap.mmap(memory, total) as room:
            _write(room, tensors, offsets)
            words = _argument_words(arguments, offsets)
            limit = shared_bytes_per_block(SIMULATED_CAPABILITY)
            numbers = [*launch.grid, launch.threads, launch.shared_bytes, limit]
            status, printed = _spawn(
                [build_runner(), library, memory], [workers, *numbers, *words], time_limit
            )
            if status == "done":
                _read(room, tensors, offsets)
                return None, printed
            return _sentence(status, tensors) if status else _too_long(time_limit), printed
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
    """The tensor's bytes in the shared memory, as near to its pages' end as 256 bytes allow."""
    start = offset + _region_bytes(tensor) - _round_up(tensor.value.nbytes, _ALIGNMENT)
    return torch.frombuffer(room, dtype=torch.uint8, count=tensor.value.nbytes, offset=start)


def _flat_bytes(value):
    return value.reshape(-1).view(torch.uint8)


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
        else:
            access = "w" if argument.is_output else "r"
            size = argument.value.nbytes
            yield f"p:{argument.name}:{offsets[argument.name]}:{size}:{access}"


def _spawn(program, words, time_limit):
    """(the runner's report, "" if it was stopped at the time limit; what the kernel printed)."""
    with tempfile.TemporaryFile() as report, tempfile.TemporaryFile() as printed:
        command = [str(word) for word in [*program, report.fileno(), *words]]
        status = ""
        try:
            result = subprocess.run(
                command,
                pass_fds=[program[-1], report.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                timeout=time_limit,
            )
            report.seek(0)
            status = report.read().decode(errors="replace")
            status = status or f"the runner ended with {result.returncode} and without a report"
        except subprocess.TimeoutExpired:
            pass
        printed.seek(0)
        return status, printed.read().decode(errors="replace")


def _too_long(time_limit):
    return (
        f"the kernel did not end within {time_limit:g} s and was stopped: look for a loop "
        "whose condition never becomes false; load(..., time_limit=...) sets the limit"
    )


def _show_what_it_printed(lines):
    for line in lines[:_PRINTED_LINES]:
        print(line)
    if len(lines) > _PRINTED_LINES:
        print(f"... and {len(lines) - _PRINTED_LINES} more lines: print from one thread alone")


def _sentence(status, tensors):
    word, *fields = status.split(" ")
    if word in ("outside", "readonly"):
        return _memory_sentence(word, fields, tensors)
    if word == "signal":
        number, address, block_x, block_y, thread = fields
        wild = "reached a null pointer" if address == "(nil)" else _WILD
        return f"{_where(block_x, block_y, thread)}: {_SIGNALS.get(int(number), wild)}"
    if word == "shared":
        offset, asked, block_x, block_y, _ = fields
        return (
            f"block ({block_x}, {block_y}) wrote byte {offset} of its dynamic shared memory, "
            f"of which the launch asked for {asked}"
        )
    if word == "stack":
        return (
            f"{_where(*fields[2:])} used more than {fields[0]} KiB of local memory: "
            "a very large local array, or a recursion that does not end"
        )
    if word == "stuck":
        kind, missing, block_x, block_y, thread = fields
        if kind == "barrier":
            waits = f"{_where(block_x, block_y, thread)} waits for ever at __syncthreads"
            return f"{waits}, which thread {missing} never reaches"
        warp, lane = divmod(int(thread), 32)
        return (
            f"block ({block_x}, {block_y}), warp {warp}: lane {lane} waits for ever at a shuffle "
            f"or vote that lane {int(missing) % 32} never makes; is it inside an if?"
        )
    if word == "notinmask":
        mask, lane, block_x, block_y, thread = fields
        return (
            f"{_where(block_x, block_y, thread)} is lane {lane} of its warp and takes part in a "
            f"warp operation whose mask 0x{mask} does not name it"
        )
    return f"the simulator failed: {status}"


def _memory_sentence(word, fields, tensors):
    name, offset, block_x, block_y, thread = fields
    tensor = next(t for t in tensors if t.name == name)
    element = int(offset) // tensor.value.element_size()
    count = tensor.value.numel()
    if int(thread) < 0:
        return f"the kernel wrote {name}[{element}], outside {name}, which has {count} elements"
    if word == "readonly":
        return f"{_where(block_x, block_y, thread)} wrote {name}[{element}], but {name} is an input"
    return (
        f"{_where(block_x, block_y, thread)} reached {name}[{element}], "
        f"outside {name}, which has {count} elements"
    )


def _where(block_x, block_y, thread):
    return f"block ({block_x}, {block_y}), thread {thread}"
