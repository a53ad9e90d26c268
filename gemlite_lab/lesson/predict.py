"""Predict a number before you see it: a guess makes you learn more from the answer."""

import math

_predictions = {}


def predict(what, value=None):
    """Store your prediction of `what`, a number; with None it asks you to write one."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise TypeError(f"a prediction is a number, got {type(value).__name__}")
    if value is not None and not math.isfinite(value):
        raise ValueError(f"a prediction is a finite number, got {value}")
    _predictions[what] = value
    if value is None:
        print(f"{what}: put your number in place of None, then run this cell again")
    else:
        print(f"{what}: you predict {value:g}")


def reveal(what, measured):
    """Show the measured value of `what` beside the prediction, if there is one."""
    if what not in _predictions:
        raise ValueError(f"run the cell with predict({what!r}, ...) first")
    guess = _predictions[what]
    print(f"{what}: it is {measured:g}" + ("" if guess is None else _verdict(guess, measured)))


def _verdict(guess, measured):
    if guess == measured:
        return f"; you predicted {guess:g}, exactly"
    return f"; you predicted {guess:g}"
