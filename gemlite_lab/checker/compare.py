"""The one comparison: shape, dtype, then values. NaN never equals a number."""

import torch

_FEWEST_DIGITS = 6
_DIGITS_OF_FLOAT64 = 17


def compare(name, actual, expected, bound=None, dtype=None):
    """None if `actual` equals `expected` within `bound`, else the difference in words.

    actual: any object. expected: a tensor of the right shape. bound: a float64 tensor, elementwise;
    0 by default. dtype: the right dtype, if it is not that of `expected`.
    """
    if not isinstance(actual, torch.Tensor):
        return f"{name} is a {type(actual).__name__}, expected a torch.Tensor"
    if actual.shape != expected.shape:
        return f"{name} has shape {tuple(actual.shape)}, expected {tuple(expected.shape)}"
    dtype = dtype or expected.dtype
    if actual.dtype != dtype:
        return f"{name} has dtype {actual.dtype}, expected {dtype}"
    close = is_close(actual, expected, bound)
    if bool(close.all()):
        return None
    if not close.dim():
        came, wanted = _shown(actual, expected)
        return f"{name} is {came}, expected {wanted}"
    index = first_wrong(actual, expected, bound)
    wrong = int((~close).sum())
    came, wanted = _shown(actual[index], expected[index])
    verb = "is" if wrong == 1 else "are"
    return (
        f"{name}[{', '.join(map(str, index))}] is {came}, expected {wanted}; "
        f"{wrong} of {close.numel()} elements {verb} wrong"
    )


def first_wrong(actual, expected, bound=None):
    """The index of the first element of `actual` that is wrong, as a tuple."""
    return tuple((~is_close(actual, expected, bound)).nonzero()[0].tolist())


def is_close(actual, expected, bound=None):
    """Elementwise |actual - expected| <= bound in float64. Equal infinities pass, NaN never."""
    actual, expected = actual.detach().cpu().double(), expected.detach().cpu().double()
    difference = (actual - expected).abs()
    return (actual == expected) | (difference <= (0 if bound is None else bound))


def _shown(actual, expected):
    """Two numbers as text, with as many digits as it takes to tell them apart."""
    for digits in range(_FEWEST_DIGITS, _DIGITS_OF_FLOAT64 + 1):
        texts = _show(actual, digits), _show(expected, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _show(value, digits):
    if value.dtype == torch.int32:
        return f"0x{value.item() & 0xFFFFFFFF:08x}"
    return f"{value.item():.{digits}g}" if value.is_floating_point() else str(value.item())
