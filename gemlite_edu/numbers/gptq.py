"""GPTQ: codes that keep the outputs of a layer close, rather than each weight."""

from dataclasses import replace

import torch

from gemlite_edu.numbers.checks import check_dense, check_together
from gemlite_edu.numbers.coded_weight import CodedWeight
from gemlite_edu.numbers.format import Format
from gemlite_edu.numbers.nearest import nearest_levels, quantize_to_format
from gemlite_edu.numbers.quantize import nearest_integers
from gemlite_edu.numbers.scale_rules import steps_of

_DAMPING = 0.01  # of the mean diagonal, as in the paper
_COLUMNS_AT_ONCE = 128
_WEIGHTS_AT_ONCE = 2**24


def quantize_gptq(W: torch.Tensor, format: Format, hessian: torch.Tensor) -> CodedWeight:
    """Quantize `W` (N, K) so that W x changes little for given activations x: a `CodedWeight`.

    format: any `Format`. hessian: (K, K), a float dtype, on W's device: the sum of x xᵀ over the
    activations x (K,) of the layer.

    Scales and zeros are those of `quantize_to_format`; only codes differ. The columns of W are
    quantized one after the other, those with the largest activations first. Column k is corrected
    for the errors of the columns j before it, then rounded to the nearest level:

        w'_k = nearest(w_k + sum of (w_j - w'_j) U[j, k]),    with hessian = U D Uᵀ

    where U is upper triangular with ones on its diagonal, and D is diagonal. To the diagonal of the
    hessian 1% of its mean is added, for directions in which no activation lies. A diagonal hessian
    corrects nothing, so its codes are those of `quantize_to_format`.

    The function computes in float64. It takes 24 bytes for each number of the hessian, and up to
    half a GB for W. Raises what `quantize_to_format` raises, and TypeError or ValueError for a
    hessian of another shape or device, or with NaN, infinite or only zero entries, or with a
    negative eigenvalue.
    Sources: Frantar et al. 2022 (GPTQ), arXiv 2210.17323, for the update, the order by activations
    and the damping; Chee et al. 2023 (QuIP), arXiv 2307.13304, for this form of the same update.

    >>> from gemlite_edu import INT2
    >>> W = torch.tensor([[0.6, 0.6, 3.0]])
    >>> quantize_to_format(W, INT2).dequantize().tolist()
    [[1.0, 1.0, 3.0]]
    >>> x = torch.tensor([[2.0, 2.0, 1.0]])  # the first two inputs are equal: their sum matters
    >>> quantize_gptq(W, INT2, x.T @ x).dequantize().tolist()
    [[1.0, 0.0, 3.0]]
    """
    nearest = quantize_to_format(W, format)
    _check_hessian(hessian, W)
    order = hessian.diagonal().argsort(descending=True, stable=True)
    U = _unit_upper_factor(hessian.double()[order][:, order])
    codes = torch.empty_like(nearest.codes)
    rows_at_once = max(1, _WEIGHTS_AT_ONCE // W.shape[1])
    for first in range(0, len(W), rows_at_once):
        rows = slice(first, first + rows_at_once)
        rounding = _Rounding(nearest, rows, order)
        weights = W.detach()[rows].double()[:, order]
        codes[rows, order] = _corrected_codes(weights, rounding, U)
    return replace(nearest, codes=codes)


class _Rounding:
    """Rounds columns of some rows with the scales and zeros of a `CodedWeight`.

    order: the column of the weights that stands at each place.
    """

    def __init__(self, q: CodedWeight, rows: slice, order: torch.Tensor) -> None:
        N, K = q.codes.shape
        groups = q.format.groups_of(K)
        ones = torch.ones((N, groups), dtype=torch.float64, device=order.device)
        self._steps = steps_of(q.scales, q.tensor_scale, ones)[rows]
        self._zeros = (0 * ones if q.zeros is None else q.zeros.double())[rows]
        self._groups, self._format = (order // (K // groups)).tolist(), q.format

    def __call__(self, place: int, column: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(codes, what they stand for), (rows, 1) each, for a column (rows, 1), float64."""
        group = slice(self._groups[place], self._groups[place] + 1)
        step, zero, format = self._steps[:, group], self._zeros[:, group], self._format
        if format.has_zeros:
            nonzero = torch.where(step == 0, 1.0, step)
            codes = nearest_integers(column, nonzero, zero, format.nbits)
        else:
            codes = nearest_levels(column, step, format.levels or ())
        return codes, (format.values(codes, torch.float64) - zero) * step


def _unit_upper_factor(hessian: torch.Tensor) -> torch.Tensor:
    """The unit upper triangular U of U D Uᵀ, the damped hessian; overwrites the hessian."""
    diagonal = hessian.diagonal()
    diagonal += _DAMPING * diagonal.mean()
    lower, info = torch.linalg.cholesky_ex(hessian.flip(0, 1))
    if info.item():
        raise ValueError(
            "hessian has a negative eigenvalue, so it is no sum of x xᵀ: compute X.T @ X of "
            "activations X (tokens, K) in float32"
        )
    U = lower.flip(0, 1)
    U /= U.diagonal().clone()
    return U


def _corrected_codes(W: torch.Tensor, rounding: _Rounding, U: torch.Tensor) -> torch.Tensor:
    """The codes of W (rows, K), its columns in the order of U; replaces W by the errors."""
    codes = torch.empty_like(W, dtype=torch.uint8)
    K = W.shape[1]
    for first in range(0, K, _COLUMNS_AT_ONCE):
        end = min(first + _COLUMNS_AT_ONCE, K)
        of_earlier_blocks = W[:, :first] @ U[:first, first:end]
        for k in range(first, end):
            column = slice(k, k + 1)
            correction = of_earlier_blocks[:, k - first : k - first + 1]
            correction = correction + W[:, first:k] @ U[first:k, column]
            codes[:, column], weights = rounding(k, W[:, column] + correction)
            W[:, column] -= weights
    return codes


def _check_hessian(hessian: torch.Tensor, W: torch.Tensor) -> None:
    check_dense("hessian", hessian)
    K = W.shape[1]
    if not hessian.is_floating_point() or tuple(hessian.shape) != (K, K):
        raise ValueError(
            f"hessian must be a float tensor (K, K) = ({K}, {K}), got {hessian.dtype} "
            f"{tuple(hessian.shape)}"
        )
    check_together("hessian", hessian.device, "W", W.device)
    if not hessian.isfinite().all():
        raise ValueError("hessian has NaN or infinite entries: look for them in the activations")
    if not hessian.diagonal().any():
        raise ValueError("hessian has only zeros on its diagonal: the layer got no activations")
