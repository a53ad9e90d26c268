"""A `GemLiteLinear` of every preset on a GPU: fused for few rows, right, captured, compiled."""

import copy

import pytest
import torch

import gemlite_edu as g
from gemlite_edu import Format, GemLiteLinear, quantize_to_format
from gemlite_edu.operators import cuda_product, linear_op
from gemlite_edu.runners import cuda

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
@pytest.mark.parametrize("M", [1, 8, 16, 1100])
@pytest.mark.parametrize("name", PRESETS)
def test_it_is_right(name, M, dtype):
    layer, q = layer_of(name, dtype)
    x = torch.randn(M, K, generator=torch.Generator().manual_seed(M)).to(dtype)
    y, W = layer(x.cuda()).cpu(), q.dequantize(torch.float64)
    exact = x.double() @ W.T + layer.bias.double().cpu()
    eps = torch.finfo(torch.float16 if dtype == torch.float32 else dtype).eps
    steps = q.scales.double().repeat_interleave(K // q.scales.shape[1], 1)
    size = W.abs() + steps / 32  # codes of 1 bit come to the tensor cores with offsets up to 256
    bound = eps * (x.double().abs() @ size.T) + torch.finfo(dtype).eps * exact.abs()
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


def layer_of_codebook(seed):
    """(a layer with 16 levels that no other layer has, its `CodedWeight`)."""
    generator = torch.Generator().manual_seed(seed)
    mine = Format(4, levels=torch.randn(16, generator=generator), group_size=128)
    q = quantize_to_format(torch.randn(N, K, generator=generator), mine)
    return GemLiteLinear.from_coded(q).cuda(), q


@pytest.fixture
def built(monkeypatch):
    """What is built from now on, each text with its macros."""
    found, build = [], cuda.build_kernel

    def recorded(text, entry, defines, *others):
        found.append((text, *defines.items()))
        return build(text, entry, defines, *others)

    monkeypatch.setattr(cuda, "build_kernel", recorded)
    for cache in (linear_op._prepared, cuda_product._prepared, cuda_product._program):
        cache.cache_clear()
    return found


@pytest.mark.parametrize("M", [1, 4, pytest.param(40, marks=pytest.mark.hopper)])
def test_codebooks_of_their_own_share_every_build(M, built):
    x = torch.randn(M, K, generator=torch.Generator().manual_seed(M)).half()
    for seed in range(4):
        layer, q = layer_of_codebook(seed)
        y, W = layer(x.cuda()).cpu(), q.dequantize(torch.float64)
        exact, eps = x.double() @ W.T, torch.finfo(torch.float16).eps
        bound = 2 * eps * (x.double().abs() @ W.abs().T) + eps * exact.abs()
        assert ((y.double() - exact).abs() <= bound).all()
        if seed == 0:
            of_the_first = len(built)
    assert 0 < of_the_first == len(built)


def test_compiled_blocks_with_codebooks_of_their_own_share_one_graph(fresh_compiler):
    x = torch.randn(4, K).half().cuda()
    with torch._dynamo.config.patch(error_on_recompile=True):
        for seed in range(10):
            block = torch.nn.Sequential(layer_of_codebook(seed)[0], torch.nn.ReLU())
            compiled = torch.compile(block, fullgraph=True)
            assert torch.equal(compiled(x), block(x))


def test_compiled_and_moved_it_stays_the_same():
    layer, _ = layer_of("NF4")
    x = torch.randn(3, K).half().cuda()
    compiled = torch.compile(torch.nn.Sequential(layer, torch.nn.ReLU()), fullgraph=True)
    assert torch.equal(compiled(x), torch.relu(layer(x)))
    assert torch.equal(copy.deepcopy(layer).cpu().cuda()(x), layer(x))


def test_a_whole_model_is_quantized_saved_and_loaded_on_the_gpu(tmp_path):
    def made():
        torch.manual_seed(1)
        return torch.nn.Sequential(torch.nn.Linear(K, N), torch.nn.ReLU()).half().cuda()

    x = torch.randn(3, K).half().cuda()
    with torch.inference_mode():
        dense, model = made()(x), g.quantize_(made(), g.NF4, group_size=128)
        y = model(x)
        assert all(tensor.is_cuda for tensor in model.state_dict().values())
        assert 0 < (y - dense).norm() / dense.norm() < 0.15
        g.save_quantized(model, tmp_path / "model")
        again = g.load_quantized(tmp_path / "model", made(), device="cuda")
        assert torch.equal(again(x), y)
