"""The meaning of the scales of a ternary product, here and in the two projects it comes from.

    ours        y = sum * token_scales * scales      each scale is the value of one step
    BitNet      y = sum / s * ws                     s = 127 / max |x|, ws = mean |W|
    BitMedViT   y = sum / (s * ws)                   s = 127 / max |x|, ws = 1 / mean |W|

Sources: microsoft/BitNet, gpu/model.py and bitnet_kernels.h; M-iki/BitMedViT, kernels/.
"""

from enum import Enum

import torch


class ScaleConvention(Enum):
    """Tells if a factor divides the sum: (the tokens' factor, the weights' factor)."""

    MULTIPLY = (False, False)
    BITNET = (True, False)
    BITMEDVIT = (True, True)

    def token_scales(self, s: torch.Tensor) -> torch.Tensor:
        """Convert the tokens' factors `s` to factors that multiply, float32, of the same shape."""
        return _multiplying(s, divides=self.value[0])

    def scales(self, ws: torch.Tensor) -> torch.Tensor:
        """Convert the weights' factors `ws` to factors that multiply, float32, of the same shape.

        >>> ws = torch.tensor([4.0])
        >>> [c.scales(ws).item() for c in ScaleConvention]
        [4.0, 4.0, 0.25]
        """
        return _multiplying(ws, divides=self.value[1])


def _multiplying(factor: torch.Tensor, divides: bool) -> torch.Tensor:
    if not isinstance(factor, torch.Tensor) or not factor.is_floating_point():
        came = factor.dtype if isinstance(factor, torch.Tensor) else type(factor).__name__
        raise TypeError(f"scales must be a floating-point tensor, got {came}")
    return 1 / factor.float() if divides else factor.float()
