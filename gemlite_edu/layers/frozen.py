"""What the layers of this package share: their weights are frozen."""

import torch

from gemlite_edu.numbers.checks import check_dense, check_together


class FrozenLayer(torch.nn.Module):
    """A layer of quantized weights, which no training changes and no cast rounds.

    A subclass has `in_features`, the columns of x.
    """

    def _apply(self, fn, recurse=True):
        """Move the tensors, and keep their types: `.half()` of a model must not round scales."""
        kept = {name: tensor.data for name, tensor in self._own_tensors()}
        super()._apply(fn, recurse)
        for name, moved in self._own_tensors():
            if moved.dtype != kept[name].dtype:
                moved.data = kept[name].to(moved.device)
        return self

    def _own_tensors(self):
        yield from self.named_parameters(recurse=False)
        yield from self.named_buffers(recurse=False)

    def _check_x(self, x, words, dtypes=None):
        """Raise unless x is (..., in_features), of one of `dtypes`, where the words are."""
        check_dense("x", x, dtypes)
        self._check_place(x, words)

    def _check_place(self, x, words):
        if x.dim() == 0 or x.shape[-1] != self.in_features:
            raise ValueError(f"x must be (..., {self.in_features}), got {tuple(x.shape)}")
        check_together("x", x.device, "the layer", words.device)
