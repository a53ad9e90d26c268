"""Count how often interpreted kernels load from each tensor, and how many bytes they request."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import torch


@dataclass
class Loads:
    """times: executions of `tl.load`, over all programs. nbytes: total bytes they requested."""

    times: int = 0
    nbytes: int = 0


@contextmanager
def count_loads(tensors: Mapping[str, torch.Tensor]) -> Iterator[dict[str, Loads]]:
    """Within this context, count loads from `tensors` {name: CPU tensor} as {name: `Loads`}.

    A load counts for the tensor that contains its first element.
    """
    from triton.runtime.interpreter import InterpreterBuilder

    counted = {name: Loads() for name in tensors}
    original = InterpreterBuilder.create_masked_load

    @wraps(original)
    def counting(builder: Any, pointers: Any, mask: Any, *arguments: Any) -> Any:
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
