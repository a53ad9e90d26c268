"""A `GemLiteLinear` of every preset on a GPU: fused for few rows, right, captured, compiled."""

import copy

import pytest
import torch

import gemlite_edu as g
from gemlite_edu import GemLiteLinear, quantize_to_format

PRESETS = (
    *("INT1", "INT2", "INT3", "INT4", "INT5", "INT6", "INT7", "INT8"),
    *("NF4", "FP4_E2M1", "MXFP4", "NVFP4", "FP6_E2M3", "FP6_E3M2", "FP8_E4M3", "log2 4"),
)
N, K = 264, 1024


def layer_of(name, dtype=torch.float16):
    W = torch.randn(N, K, generator=torch.Generator().manual_seed(1))
    format = g.log2_format(int(name[-1])) if name.startswith("log2") else getattr(g, name)
    q = quantize_to_format(W, format)
    return GemLiteLinear.from_coded(q, torch.randn(N), dtype).cuda(), q


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("M", [1, 4])
def test_few_rows_have_a_fused_kernel(name, M):
    layer, _ = layer_of(name)
    assert "_FAST" in layer.explain(M).splitlines()[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("M", [1, 4, 8, 16, 100, 1100])
@pytest.mark.parametrize("name", PRESETS)
def test_it_is_right(name, M, dtype):
    layer, q = layer_of(name, dtype)
    x = torch.randn(M, K, generator=torch.Generator().manual_seed(M)).to(dtype)
    y, W = layer(x.cuda()).cpu(), q.dequantize(torch.float64)
    exact = x.double() @ W.T + layer.bias.double().cpu()
    eps = torch.finfo(torch.float16 if dtype == torch.float32 else dtype).eps
    bound = 2 * eps * (x.double().abs() @ W.abs().T) + torch.finfo(dtype).eps * exact.abs()
    assert y.dtype == dtype and ((y.double() - exact).abs() <= bound).all()


@pytest.mark.parametrize("name", ["NF4", "MXFP4", "FP8_E4M3", "INT5"])
def test_a_cuda_graph_replays_it(name):
    layer, _ = layer_of(name)
    x = torch.randn(4, K).half().cuda()
    with torch.inference_mode():
        layer(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = layer(x)
        x.copy_(torch.randn(4, K))
        graph.replay()
        assert torch.equal(y, layer(x))


def test_compiled_and_moved_it_stays_the_same():
    layer, _ = layer_of("NF4")
    x = torch.randn(3, K).half().cuda()
    compiled = torch.compile(torch.nn.Sequential(layer, torch.nn.ReLU()), fullgraph=True)
    assert torch.equal(compiled(x), torch.relu(layer(x)))
    assert torch.equal(copy.deepcopy(layer).cpu().cuda()(x), layer(x))
