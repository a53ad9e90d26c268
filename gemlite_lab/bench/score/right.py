"""Is the y of a kernel right? Its errors are held to the bound that rounding allows."""

import torch

from gemlite_edu.kernels.errors import OneSentence
from gemlite_edu.kernels.gemv_fast import FastGemv
from gemlite_edu.numbers import bounds
from gemlite_edu.numbers.reference import ScaledProduct

_LARGEST_OFFSET = 256  # that the texts of gemv_a16wn_fast add to a code


class NoScore(OneSentence, ValueError):
    """The kernel gets no score; the message says what is wrong with it."""


def refuse_wrong(kernel, report, x, weights, right):
    """Raise `NoScore` for what the simulator found, or for a y that is not the product.

    report: of an inspected run with this x and these weights. right: the product in fp64.
    """
    if report.findings:
        raise NoScore(f"the simulator found a fault: {report.findings[0]}")
    error = (report.y.double() - right).abs()
    wrong = ~(error <= _bound(kernel, x, weights))
    if not wrong.any():
        return
    n = int(wrong[0].nonzero()[0])
    raise NoScore(
        f"y[0, {n}] is {float(report.y[0, n]):.6g}, and the product is {float(right[0, n]):.6g}; "
        f"{int(wrong.sum()):,} of {wrong.numel():,} outputs are farther off than rounding allows"
    )


def _bound(kernel, x, weights):
    """The most that each output may be off; (1, N) float64."""
    if kernel.y_dtype == torch.int32:
        return torch.zeros(())
    if isinstance(weights, torch.Tensor):
        return bounds.error_bound(x, weights, kernel.y_dtype)
    if kernel.name == "gemv_a16wn_half2":
        return bounds.half2_error_bound(x, weights, kernel.y_dtype)
    if isinstance(kernel.spec, FastGemv):
        product = ScaledProduct(x, weights.W_q, weights.scales, weights.zeros)
        part = kernel.spec.weights.part
        return bounds.parts_error_bound(product, x.dtype, part=part, offset=_LARGEST_OFFSET)
    return bounds.error_bound(x, weights.dequantize(torch.float64), kernel.y_dtype)
