"""GPTQ: the codes of the paper's elimination, in any format, and never worse than rounding."""

from dataclasses import replace

import pytest
import torch

from gemlite_edu import INT2, INT3, INT4, MXFP4, NF4, NVFP4, Format, quantize_gptq
from gemlite_edu import quantize_to_format as nearest
from gemlite_edu.numbers.nearest import nearest_levels
from gemlite_lab import real_layer

N, K = 24, 64
FORMATS = {
    "INT4": INT4,
    "INT2 g16": replace(INT2, group_size=16),
    "NF4": NF4,
    "NF4 g32": replace(NF4, group_size=32),
    "MXFP4": MXFP4,
    "NVFP4": NVFP4,
    "ternary": Format(2, levels=(0, 1, -1, 0), group_size=32),
    "no scales": Format(3, levels=(-2, -1, -0.5, 0, 0.5, 1, 2, 4), scale_dtype=None),
}


@pytest.fixture(scope="module")
def data():
    """(W, X) with correlated columns of X, some of them large."""
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(N, K, generator=generator)
    mixing = torch.randn(K // 2, K, generator=generator)
    X = torch.randn(500, K // 2, generator=generator) @ mixing
    X += 0.3 * torch.randn(500, K, generator=generator)
    return W, X * torch.rand(K, generator=generator).exp2().square()


def output_error(q, W, X):
    return (X @ (q.dequantize() - W).T).norm() / (X @ W.T).norm()


def codes_of_the_paper(W, format, H):
    """Sections 2 and 3 of the paper, literally: after each column, its error is spread by the
    inverse of the hessian, from which the column is then eliminated."""
    q, order = nearest(W, format), H.diagonal().argsort(descending=True, stable=True)
    steps = torch.ones(N, 1) if q.scales is None else q.scales
    steps = steps.double() * (1 if q.tensor_scale is None else q.tensor_scale.double())
    inverse = (H.double() + 0.01 * H.double().diagonal().mean() * torch.eye(K)).inverse()
    W, codes = W.double().clone(), torch.empty_like(q.codes)
    for k in order.tolist():
        group = k * q.format.groups_of(K) // K
        step = steps[:, group : group + 1]
        if format.has_zeros:
            zero = q.zeros[:, group : group + 1].double()
            code = (W[:, k : k + 1] / step + zero).round().clamp(0, 2**format.nbits - 1).byte()
        else:
            zero, code = 0, nearest_levels(W[:, k : k + 1].contiguous(), step, format.levels)
        error = W[:, k] - ((format.values(code, torch.float64) - zero) * step)[:, 0]
        codes[:, k] = code[:, 0]
        W -= torch.outer(error, inverse[k]) / inverse[k, k]
        inverse = inverse - torch.outer(inverse[:, k], inverse[k]) / inverse[k, k]
    return codes


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_codes_are_those_of_the_paper_and_better_than_the_nearest(data, format):
    W, X = data
    H = X.double().T @ X.double()
    q = quantize_gptq(W, format, H)
    assert torch.equal(q.codes, codes_of_the_paper(W, format, H))
    assert output_error(q, W, X) < 0.85 * output_error(nearest(W, format), W, X)


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_with_a_diagonal_hessian_it_is_the_nearest(data, format):
    W, X = data
    q, expected = quantize_gptq(W, format, X.square().sum(0).diag()), nearest(W, format)
    assert torch.equal(q.codes, expected.codes) and q.format == format
    for name in ("scales", "zeros", "tensor_scale"):
        ours, theirs = getattr(q, name), getattr(expected, name)
        assert (ours is None and theirs is None) or torch.equal(ours, theirs)


def test_more_columns_and_rows_than_one_block_change_nothing(monkeypatch):
    layer = real_layer("attention_query")
    W, X = layer.weight[:48], layer.activations.float()
    whole = quantize_gptq(W, INT3, X.T @ X)
    assert torch.equal(whole.codes, quantize_gptq(W, INT3, X.T @ X).codes)
    monkeypatch.setattr("gemlite_edu.numbers.gptq._WEIGHTS_AT_ONCE", 20 * W.shape[1])
    monkeypatch.setattr("gemlite_edu.numbers.gptq._COLUMNS_AT_ONCE", 50)
    assert torch.equal(whole.codes, quantize_gptq(W, INT3, X.T @ X).codes)


@pytest.mark.parametrize("name", ["attention_query", "ffn_up", "ffn_down"])
def test_a_real_layer_is_better_on_tokens_that_it_was_not_calibrated_on(name):
    """112 tokens are few for 384 or 1536 inputs, and leave little to gain on the other 29."""
    layer = real_layer(name)
    W, X = layer.weight[:128].float(), layer.activations.float()
    is_seen = torch.arange(len(X)) % 5 != 0
    format = replace(INT3, group_size=64)
    q = quantize_gptq(W, format, X[is_seen].T @ X[is_seen])
    assert output_error(q, W, X[is_seen]) < 0.3 * output_error(nearest(W, format), W, X[is_seen])
    assert output_error(q, W, X[~is_seen]) < output_error(nearest(W, format), W, X[~is_seen])


def test_an_input_that_is_always_zero_and_a_group_of_zeros_are_no_trouble(data):
    W, X = data[0].clone(), data[1].clone()
    X[:, 5], W[:, :32] = 0, 0
    for format in (replace(INT4, group_size=16), MXFP4):
        q = quantize_gptq(W, format, X.T @ X)
        assert (q.dequantize()[:, :32].abs() < 1e-30).all() and q.dequantize().isfinite().all()


def without_rank(H):
    H[0, 1] = H[1, 0] = 10 * H.diagonal().max()
    return H


BAD_HESSIANS = {
    "a list": (lambda H: [], "hessian must be a torch.Tensor, got list"),
    "integers": (lambda H: H.long(), r"hessian must be a float tensor \(K, K\) = \(64, 64\)"),
    "tokens": (lambda H: H[:32], r"= \(64, 64\), got torch.float32 \(32, 64\)"),
    "NaN": (lambda H: H * torch.nan, "hessian has NaN or infinite entries"),
    "zeros": (lambda H: 0 * H, "the layer got no activations"),
    "negative": (without_rank, "hessian has a negative eigenvalue, so it is no sum of x xᵀ"),
    "meta": (lambda H: H.to("meta"), "hessian is on meta and W on cpu: move one"),
}


@pytest.mark.parametrize(("change", "sentence"), BAD_HESSIANS.values(), ids=BAD_HESSIANS)
def test_a_hessian_that_is_none_gets_one_sentence(data, change, sentence):
    W, X = data
    with pytest.raises((TypeError, ValueError), match=sentence):
        quantize_gptq(W, INT4, change(X.T @ X))
