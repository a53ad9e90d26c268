"""What the scales of a ternary product mean, in three conventions that say the same."""

import pytest
import torch

from gemlite_edu import ScaleConvention, quantize_activations_int8

BITNET, BITMEDVIT, OURS = (ScaleConvention[name] for name in ("BITNET", "BITMEDVIT", "MULTIPLY"))


@pytest.fixture
def problem():
    """Sums (3, 5), and the scales of x and W that multiply them."""
    generator = torch.Generator().manual_seed(0)
    sums = torch.randint(-1000, 1000, (3, 5), generator=generator)
    token_scales, scales = torch.rand(3, 1, generator=generator), torch.rand(5, generator=generator)
    return sums, 0.01 + token_scales, 0.01 + scales


def test_each_project_gets_what_it_computes_itself(problem):
    """BitNet's kernels compute sum / s * ws, BitMedViT's sum / (s ws)."""
    sums, a, b = (t.double() for t in problem)
    written = {OURS: sums * a * b, BITNET: sums / a * b, BITMEDVIT: sums / (a * b)}
    for convention, y in written.items():
        ours = sums * convention.token_scales(a).double() * convention.scales(b).double()
        torch.testing.assert_close(ours, y, rtol=1e-6, atol=0)


def test_the_same_product_in_three_conventions(problem):
    _, a, b = problem
    said = {OURS: (a, b), BITNET: (1 / a, b), BITMEDVIT: (1 / a, 1 / b)}
    for convention, (s, ws) in said.items():
        torch.testing.assert_close(convention.token_scales(s), a)
        torch.testing.assert_close(convention.scales(ws), b)


def test_which_factor_divides():
    four = torch.tensor([4.0])
    found = {c.name: (c.token_scales(four).item(), c.scales(four).item()) for c in ScaleConvention}
    assert found == {"MULTIPLY": (4, 4), "BITNET": (0.25, 4), "BITMEDVIT": (0.25, 0.25)}


def test_bitnets_s_becomes_the_token_scales_of_its_activations():
    x = torch.randn(4, 32, generator=torch.Generator().manual_seed(1))
    s = 127 / x.abs().amax(1, keepdim=True).clamp(min=1e-5)
    assert torch.equal(BITNET.token_scales(s), quantize_activations_int8(x)[1])


@pytest.mark.parametrize("convention", ScaleConvention)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (5, 1), (0, 1)])
def test_factors_are_float32_and_keep_their_shape(convention, dtype, shape):
    factors = torch.full(shape, 3.0, dtype=dtype)
    for found in (convention.token_scales(factors), convention.scales(factors)):
        assert (found.dtype, found.shape) == (torch.float32, shape)
    assert factors.dtype == dtype and (factors == 3).all()


@pytest.mark.parametrize("convention", [BITNET, BITMEDVIT])
def test_one_is_divided_in_float32(convention):
    third = torch.tensor([3.0], dtype=torch.float16)
    assert convention.token_scales(third).item() == (torch.tensor(1.0) / 3).item()


@pytest.mark.parametrize("convention", ScaleConvention)
@pytest.mark.parametrize(
    "factor, came",
    [(2.0, "float"), ([1.0], "list"), (torch.ones(2).int(), "torch.int32"), (None, "NoneType")],
)
def test_other_factors_are_named_in_one_sentence(convention, factor, came):
    for call in (convention.token_scales, convention.scales):
        with pytest.raises(TypeError, match=f"must be a floating-point tensor, got {came}$"):
            call(factor)
