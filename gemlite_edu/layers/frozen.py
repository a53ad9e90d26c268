"""`FrozenLayer`, the base class of the package's layers, whose weights are frozen."""

from collections.abc import Callable, Collection, Iterator
from typing import Self

import torch

from gemlite_edu.numbers.checks import check_dense, check_together


class FrozenLayer(torch.nn.Module):
    """A layer whose quantized weights training does not change and casts do not round.

    A subclass must have `in_features`, the number of columns of x.
    """

    in_features: int

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Move the tensors but keep their dtypes: `.half()` on a model must not round scales."""
        kept = {name: tensor.data for name, tensor in self._own_tensors()}
        super()._apply(fn, recurse)
        for name, moved in self._own_tensors():
            if moved.dtype != kept[name].dtype:
                moved.data = kept[name].to(moved.device)
        return self

    def _own_tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        yield from self.named_parameters(recurse=False)
        yield from self.named_buffers(recurse=False)

    def _check_x(
        self, x: torch.Tensor, words: torch.Tensor, dtypes: Collection[torch.dtype] | None = None
    ) -> None:
        """Raise unless x is (..., in_features), has one of `dtypes` and is on the words' device."""
        check_dense("x", x, dtypes)
        self._check_place(x, words)

    def _check_place(self, x: torch.Tensor, words: torch.Tensor) -> None:
        if x.dim() == 0 or x.shape[-1] != self.in_features:
            raise ValueError(f"x must be (..., {self.in_features}), got {tuple(x.shape)}")
        check_together("x", x.device, "the layer", words.device)
