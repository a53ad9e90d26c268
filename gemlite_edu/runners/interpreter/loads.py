"""How often interpreted kernels load from each tensor, and how many bytes they ask for."""

from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np


@dataclass
class Loads:
    """times: of a `tl.load`, each in each program that comes to it. nbytes: asked for, in all."""

    times: int = 0
    nbytes: int = 0


@contextmanager
def count_loads(tensors):
    """While this lasts, loads from `tensors` {name: CPU tensor} are counted: {name: `Loads`}.

    A load is counted for the tensor in which its first element lies.
    """
    from triton.runtime.interpreter import InterpreterBuilder

    counted = {name: Loads() for name in tensors}
    original = InterpreterBuilder.create_masked_load

    def counting(builder, pointers, mask, *arguments):
        addresses = pointers.data[np.broadcast_to(mask.data, pointers.data.shape)]
        for name, tensor in tensors.items():
            start = tensor.data_ptr()
            if addresses.size and start <= addresses[0] < start + tensor.nbytes:
                counted[name].times += 1
                counted[name].nbytes += addresses.size * tensor.element_size()
        return original(builder, pointers, mask, *arguments)

    InterpreterBuilder.create_masked_load = counting
    try:
        yield counted
    finally:
        InterpreterBuilder.create_masked_load = original
