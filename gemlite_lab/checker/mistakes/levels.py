"""Wrong numbers in a table of levels, found from an output to which each level contributes."""

import torch

_MOST = 4
_NEAR = 2e-3
_ROUND = 64  # a wrong level of exact outputs is likely a multiple of 1 / 64


def wrong_levels(levels, case, actual, is_equal, has_zeros=False):
    """The few levels of a table that are wrong, in words; None if others explain `actual`.

    levels (codes,) float64: the right ones. An output adds up, for each code, its level times x and
    scales, so as many unknown numbers follow from all outputs. has_zeros: zero-points count, too.
    """
    if not actual.isfinite().all():
        return None
    shape = case.W_q.shape
    scales = _of_k(case.scales, shape)
    x, base = case.x.double(), -(_of_k(case.zeros, shape) * scales)
    terms = torch.stack([x @ ((case.W_q == c) * scales).T for c in range(len(levels))])
    rest = x @ base.T if has_zeros else torch.zeros(terms.shape[1:])
    wanted = (actual.double() - rest).flatten()[:, None]
    found = torch.linalg.lstsq(terms.flatten(1).T, wanted).solution.flatten()
    wrong = [c for c, off in enumerate((found - levels).abs()) if off > _NEAR]
    if not 1 <= len(wrong) <= _MOST:
        return None
    for values in ((found * _ROUND).round() / _ROUND, found):
        table = levels.clone()
        table[wrong] = values[wrong]
        output = torch.tensordot(table, terms, 1) + rest
        if is_equal(actual, output.half().double(), None):
            return ", and ".join(
                f"code {c} stands for {values[c] + 0.0:.3g}, not for {levels[c]:.4g}" for c in wrong
            )
    return None


def _of_k(values, shape):
    """(N, K) float64 of values (N, groups)."""
    return values.double().repeat_interleave(shape[1] // values.shape[1], 1)
