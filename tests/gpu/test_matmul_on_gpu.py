"""The operator of torch on a GPU: compiled, captured, on another stream, as on the CPU."""

import pytest
import torch

from gemlite_edu import DType, GemLiteMatmul, GemvLinear, quantize_linear


@pytest.fixture
def linear():
    generator = torch.Generator().manual_seed(0)
    q = quantize_linear(torch.randn(70, 192, generator=generator), 4, group_size=64)
    return GemvLinear.from_quantized(q, bias=torch.linspace(-1, 1, 70))


@pytest.fixture
def x():
    return torch.randn(3, 192, generator=torch.Generator().manual_seed(1)).half()


def assert_near(y, expected):
    torch.testing.assert_close(y.cpu(), expected, rtol=2**-9, atol=2**-9)


def test_a_module_moves_to_the_gpu(linear, x):
    expected = linear(x)
    assert_near(linear.cuda()(x.cuda()), expected)


def test_torch_compile_takes_it_whole(linear, x):
    expected = linear(x).relu()
    model = torch.nn.Sequential(linear, torch.nn.ReLU()).cuda()
    assert_near(torch.compile(model, fullgraph=True)(x.cuda()), expected)


def test_torch_compile_with_cuda_graphs(linear, x):
    expected = linear(x)
    compiled = torch.compile(linear.cuda(), fullgraph=True, mode="reduce-overhead")
    for _ in range(3):
        y = compiled(x.cuda()).clone()
    assert_near(y, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.int8])
def test_numbers_as_zero_and_scale_can_be_captured(dtype):
    W_uint = torch.randint(0, 16, (70, 192), dtype=torch.uint8)
    x = torch.randint(-3, 4, (2, 192)).to(dtype)
    numbers = (7,) if dtype == torch.int8 else (7, 0.5)
    matmul = GemLiteMatmul(4, DType(dtype))
    W_packed = matmul.pack_warped_int32(W_uint, 4)
    expected = matmul(x, W_packed, *numbers)
    on_gpu = x.cuda(), W_packed.cuda()
    matmul(*on_gpu, *numbers)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = matmul(*on_gpu, *numbers)
    on_gpu[0].zero_()
    graph.replay()
    assert torch.equal(y.cpu(), matmul(torch.zeros_like(x), W_packed, *numbers))
    on_gpu[0].copy_(x)
    graph.replay()
    assert torch.equal(y.cpu(), expected)


def test_it_runs_on_the_current_stream(linear, x):
    expected, linear = linear(x), linear.cuda()
    linear(x.cuda())  # compiles
    late_x, stream = torch.zeros_like(x).cuda(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late_x.copy_(x)
        y = linear(late_x)
    stream.synchronize()
    assert_near(y, expected)


@pytest.mark.parametrize("number", range(torch.cuda.device_count()))
def test_it_runs_where_its_tensors_are(linear, x, number):
    expected, device = linear(x), torch.device("cuda", number)
    y = linear.to(device)(x.to(device))
    assert y.device == device and torch.cuda.current_device() == 0
    assert_near(y, expected)
