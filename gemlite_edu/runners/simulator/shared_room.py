"""The memory that this process shares with the simulator's, where a launch finds its tensors."""

import mmap
import os

import torch

from gemlite_edu.runners.simulator.arguments import Tensor

_ALIGNMENT = 256
_POISON = b"\xff"


class SharedRoom:
    """One after the other, each tensor lies in whole pages of its own, with poison around it.

    It lies as close to the end of its pages as possible: at a multiple of 256 bytes.
    """

    def __init__(self):
        self._file = open(os.memfd_create("gemlite_edu"), "r+b", buffering=0)
        self._file.truncate(mmap.PAGESIZE)
        self._bytes = mmap.mmap(self._file.fileno(), mmap.PAGESIZE)

    def fileno(self):
        """The file's number, by which another process may get the memory."""
        return self._file.fileno()

    def close(self):
        self._bytes.close()
        self._file.close()

    def write(self, arguments):
        """Write every tensor of the arguments; returns {name: offset of its pages}."""
        tensors = [a for a in arguments if isinstance(a, Tensor)]
        offsets, total = {}, 0
        for tensor in tensors:
            offsets[tensor.name] = total
            total += _region_bytes(tensor)
        if total > len(self._bytes):
            self._bytes.resize(total)
        for tensor in tensors:
            self._write(tensor, offsets[tensor.name])
        return offsets

    def _write(self, tensor, offset):
        start, end = _place(tensor, offset)
        region_end = offset + _region_bytes(tensor)
        self._bytes[offset:start] = _POISON * (start - offset)
        self._bytes[start:end] = _bytes_of(tensor)
        self._bytes[end:region_end] = _POISON * (region_end - end)

    def read(self, tensor, offset):
        """Fill the tensor with what its pages at `offset` hold."""
        start, end = _place(tensor, offset)
        with memoryview(self._bytes) as room:
            _bytes_of(tensor)[:] = room[start:end]


def _round_up(value, unit):
    return -(-value // unit) * unit


def _region_bytes(tensor):
    return _round_up(_round_up(tensor.value.nbytes, _ALIGNMENT), mmap.PAGESIZE)


def _place(tensor, offset):
    size = tensor.value.nbytes
    start = offset + _region_bytes(tensor) - _round_up(size, _ALIGNMENT)
    return start, start + size


def _bytes_of(tensor):
    # A contiguous tensor of one element may still have a stride other than 1, which view refuses.
    flat = tensor.value.detach().as_strided((tensor.value.numel(),), (1,))
    return memoryview(flat.view(torch.uint8).numpy())
