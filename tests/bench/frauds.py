"""Kernels whose times cannot be believed, for the harness to refuse; each says what it does.

Each takes (right, x, W): right(x, W) computes y honestly.
"""

import torch


def cached_by_identity():
    """The y of the first call with this x and W, handed out again."""
    answers = {}

    def call(right, x, W):
        key = x.data_ptr(), W.data_ptr()
        if key not in answers:
            answers[key] = right(x, W)
        return answers[key]

    return call


def cached_copy():
    """The same, but a fresh copy each time."""
    hand_out = cached_by_identity()
    return lambda right, x, W: hand_out(right, x, W).clone()


def first_weights_for_all():
    """The weights of the first call, kept in the cache, whatever weights come later."""
    first = []

    def call(right, x, W):
        first.append(W)
        return right(x, first[0])

    return call


def last_k_dropped():
    """A tail of K is not added."""

    def call(right, x, W):
        shortened = x.clone()
        shortened[:, -x.shape[1] // 16 :] = 0
        return right(shortened, W)

    return call


def zeros_where_a_tile_is():
    """y is zeroed first, and a tile of it is never computed."""

    def call(right, x, W):
        y = right(x, W).clone()
        y[:, 5:9] = 0
        return y

    return call


def a_bit_less():
    """Weights of two bits less than asked for."""

    def call(right, x, W):
        step = W.abs().amax() / 2**5
        return right(x, (W / step).round() * step)

    return call


def changes_x():
    """x is scaled in place, as a fused normalization might."""

    def call(right, x, W):
        y = right(x, W)
        x *= 0.5
        return y

    return call


def one_y_for_all():
    """Every call writes the same tensor."""
    kept = []

    def call(right, x, W):
        y = right(x, W)
        kept.append(y)
        return kept[0].copy_(y)

    return call


def nan_computed():
    """A column of y is NaN, as inf - inf would be."""

    def call(right, x, W):
        y = right(x, W).clone()
        y[:, :1].fill_(torch.nan)
        return y

    return call


def half_of_its_buffer():
    """y is a buffer kept for each W, of which half is written."""
    kept = {}

    def call(right, x, W):
        y = right(x, W)
        buffer = kept.setdefault(W.data_ptr(), torch.full_like(y, torch.nan))
        half = y.shape[1] // 2
        buffer[:, :half] = y[:, :half]
        return buffer

    return call


def returns_nothing():
    """No y."""
    return lambda right, x, W: None


def returns_bool():
    """y of a type that says too little."""
    return lambda right, x, W: right(x, W) > 0


def wrong_shape():
    """y transposed."""
    return lambda right, x, W: right(x, W).T.contiguous()


FRAUDS = {
    cached_by_identity: "it answers from a cache",
    cached_copy: "x changed and y did not: it answers from a cache",
    first_weights_for_all: "the weights changed and y did not: it answers from a cache",
    zeros_where_a_tile_is: "wrong result: its relative error is",
    a_bit_less: "wrong result: its relative error is",
    changes_x: "it changes its x",
    one_y_for_all: "several calls return the same y",
    nan_computed: "y has NaN where the product has none",
    half_of_its_buffer: "y is not written everywhere",
    returns_nothing: "a call must return y, fp16, bf16, fp32 or int32, got NoneType",
    returns_bool: "a call must return y, fp16, bf16, fp32 or int32, got torch.bool",
    last_k_dropped: "wrong result: its relative error is",
    wrong_shape: "y has shape",
}
