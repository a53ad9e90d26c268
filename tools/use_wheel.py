"""Use an installed gemlite_edu as a stranger would, on a CPU with a C++ compiler.

python tools/use_wheel.py  (prints a line for each use; an AssertionError if a result is wrong)
"""

import tempfile

import torch

import gemlite_edu
from gemlite_edu import (
    INT4,
    Format,
    GemLiteLinear,
    load,
    load_quantized,
    pack_warped_int32,
    quantize_,
    quantize_linear,
    quantize_to_format,
    save_quantized,
)


def main():
    torch.manual_seed(0)
    for use in (a_layer_with_bias, a_model_of_a_format_of_its_own, a_kernel_in_the_simulator):
        use()
        print(use.__name__.replace("_", " "))
    print("from", gemlite_edu.__file__)


def a_layer_with_bias():
    """torch, Triton's interpreter and a traced graph give the dense product."""
    linear = torch.nn.Linear(128, 64, dtype=torch.float16)
    x = torch.randn(2, 128, dtype=torch.float16)
    W = quantize_to_format(linear.weight, INT4).dequantize(torch.float64)
    expected = x.double() @ W.T + linear.bias.double()
    layer = GemLiteLinear.from_linear(linear, INT4)
    traced = torch.compile(layer, backend="eager", fullgraph=True)
    for y in (layer(x), layer.forward_manual(x, "GEMM"), traced(x)):
        assert (y.double() - expected).abs().max() < 0.01


def a_model_of_a_format_of_its_own():
    """The model that was saved is the model that was loaded."""
    squares = Format(4, levels=[i * abs(i) / 225 for i in range(-15, 16, 2)], group_size=64)
    model, empty = (torch.nn.Sequential(torch.nn.Linear(128, 64)) for _ in range(2))
    quantize_(model, squares)
    x = torch.randn(3, 128)
    with tempfile.TemporaryDirectory() as folder:
        save_quantized(model, f"{folder}/quantized")
        again = load_quantized(f"{folder}/quantized", empty)
        assert torch.equal(again(x), model(x))


def a_kernel_in_the_simulator():
    """Its y is right, and the inspection finds no fault."""
    W, x = torch.randn(64, 128), torch.randn(1, 128).half()
    q = quantize_linear(W, 4, group_size=32)
    operands = x, pack_warped_int32(q.W_q, 4), q.scales, q.zeros
    kernel = load("gemv_a16wn_fp32", nbits=4, group_size=32)
    expected = x.double() @ q.dequantize(torch.float64).T
    assert (kernel(*operands).double() - expected).abs().max() < 0.05
    assert kernel.inspect(*operands).findings == ()


if __name__ == "__main__":
    main()
