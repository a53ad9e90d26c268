"""Forward-mode autograd: torch would take the derivative of an operator without one for 0."""

import pytest
import torch

from gemlite_edu import NF4, BitLinear, GemLiteLinear, GemvLinear, Int4Linear, quantize_linear

K, N = 64, 32


def dense():
    torch.manual_seed(0)
    return torch.nn.Linear(K, N)


LAYERS = {
    "gemlite": lambda: GemLiteLinear.from_linear(dense(), NF4),
    "gemv": lambda: GemvLinear.from_quantized(quantize_linear(dense().weight.detach(), 4, 32)),
    "int4": lambda: Int4Linear.from_linear(dense(), 32),
    "ternary": lambda: BitLinear.from_linear(dense()),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_forward_derivative_is_refused(name):
    layer = LAYERS[name]()
    x = torch.ones(3, K).half() if name == "gemv" else torch.ones(3, K)
    with pytest.raises(ValueError, match="^x has a tangent and this kernel has no forward-mode"):
        torch.func.jvp(layer, (x,), (x,))
    with torch.autograd.forward_ad.dual_level():
        assert torch.equal(layer(x), layer(x.clone()))  # x itself has no tangent there
