"""Refuse an answer that changes its inputs, where they lie within what a call gets."""

from contextlib import contextmanager

import torch


class CheckFailed(Exception):
    """What the answer did is wrong; the checker raises its own error of this name."""


@contextmanager
def unchanged(answer, inputs):
    """Raise CheckFailed if a tensor of `inputs`, {name: value}, is another one at the end."""
    tensors = {name: each for name, each in inputs.items() if isinstance(each, torch.Tensor)}
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    yield
    for name, tensor in tensors.items():
        if not same(tensor, before[name]):
            raise CheckFailed(f"{answer.__name__} changed its input {name}: work on a copy")


def same(now, old):
    """True if both tensors have one shape, one dtype and the same elements."""
    return now.shape == old.shape and now.dtype == old.dtype and torch.equal(now, old)
