"""GemLiteLinear on a GPU: compiled kernels, tuned, captured, on another stream and device."""

import copy
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from linear_cases import activations, make

from gemlite_edu.core import DType, GemLiteLinear
from gemlite_edu.kernels.triton.configs import candidates
from gemlite_edu.layers import gemlite_linear as linear_module
from gemlite_edu.numbers.activations import scale_activations_fp8, scale_activations_int8
from gemlite_edu.operators import tuning
from gemlite_edu.operators.choose import MATMUL_TYPES

N, K = 256, 512
FEW = 4  # configs that are measured here: each is compiled


@pytest.fixture(autouse=True)
def default_configs(monkeypatch, tmp_path):
    """Nothing is known or measured, unless a test turns it on: few kernels are compiled."""
    monkeypatch.setattr(tuning, "_configs", {})
    monkeypatch.setattr(tuning, "_SHIPPED", tmp_path)
    monkeypatch.setattr(tuning, "_measures", False)


@pytest.fixture
def problem():
    problem = make(4, 64, N=N, K=K, bias=torch.float16)
    problem.layer.cuda()
    return problem


FEW_ROWS, SOME_ROWS, MANY_ROWS = 3, 16, 1100  # for the CUDA GEMV, the CUDA product, the library


def kernel_for(layer, M):
    """Its name, as `explain` has it."""
    return layer.explain(M).split()[3].strip(",")


@pytest.mark.parametrize("M", [1, 3, 16, 65, 300])
@pytest.mark.parametrize("kernel", MATMUL_TYPES)
def test_every_kernel_is_as_near_to_the_oracle_as_derived(problem, kernel, M):
    x = activations(M, K)
    y = problem.layer.forward_manual(x.cuda(), kernel)
    assert y.is_cuda
    problem.assert_right(y, x, kernel=kernel)
    assert torch.equal(problem.layer.forward_manual(x.cuda(), kernel), y)  # in the same order


@pytest.mark.parametrize("M", [0, 1, FEW_ROWS, SOME_ROWS, MANY_ROWS])
def test_forward_runs_what_explain_names(problem, M):
    x = activations(M, K)
    y = problem.layer(x.cuda())
    assert y.shape == (M, N)
    if M:
        problem.assert_right(y, x, kernel=kernel_for(problem.layer, M))


@pytest.mark.parametrize(
    "quantize, options",
    [
        (None, dict(nbits=4, group_size=64, x=DType.BF16, y=DType.BF16, bias=torch.float32)),
        (None, dict(nbits=8, weights=torch.int8, bias=torch.float16)),
        (None, dict(nbits=3, group_size=32, y=DType.FP32, fma_mode=True)),
        (scale_activations_int8, dict(nbits=8, weights=torch.int8, x=DType.INT8)),
        (scale_activations_fp8, dict(nbits=8, weights=torch.float8_e4m3fn, x=DType.FP8)),
        (scale_activations_fp8, dict(nbits=4, group_size=64, x=DType.FP8)),
    ],
)
def test_types(quantize, options):
    problem = make(N=N, K=K, scaled=quantize is not None, **options)
    layer = problem.layer.cuda()
    x = activations(3, K, torch.float16 if quantize else layer.input_dtype.value)
    codes, scales = quantize(x.cuda()) if quantize else (x, None)
    problem.assert_right(layer(x.cuda()), codes.cpu(), scales, kernel=kernel_for(layer, 3))


def test_packed_there_or_moved_there_is_the_same(problem):
    there = GemLiteLinear(4, 64, K, N)
    there.pack(problem.codes.cuda(), problem.scales, problem.zeros.cuda(), problem.bias)
    state, expected = there.state_dict(), problem.layer.state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name].cuda(), expected[name]) for name in state)
    assert there.W_q.is_cuda and there.scales.is_cuda and there.bias.is_cuda
    other = GemLiteLinear()
    other.load_state_dict({name: tensor.cpu() for name, tensor in state.items()})
    x = activations(3, K).cuda()
    assert torch.equal(other.cuda()(x), problem.layer(x))
    assert torch.equal(copy.deepcopy(problem.layer).half()(x), problem.layer(x))


def test_x_on_another_device_gets_one_sentence(problem):
    with pytest.raises(ValueError, match="x is on cpu and the layer on cuda:0"):
        problem.layer(activations(3, K))


# Tuned


def test_a_config_is_measured_once_kept_and_loaded(problem, monkeypatch, tmp_path):
    monkeypatch.setattr(tuning, "_measures", True)
    monkeypatch.setattr(tuning, "candidates", lambda *problem: candidates(*problem)[:FEW])
    x, path = activations(1, K), tmp_path / "configs.json"
    y = problem.layer.forward_manual(x.cuda(), "GEMV")
    problem.assert_right(y, x, kernel="GEMV")
    GemLiteLinear.cache_config(path)
    content = json.loads(path.read_text())
    assert content["device"] == torch.cuda.get_device_name()
    (config,) = content["configs"].values()
    assert config in candidates("gemv", 1, N)[:FEW]

    tuning.reset()
    monkeypatch.setattr(tuning, "measured", None)  # would raise
    GemLiteLinear.load_config(path)
    assert torch.equal(problem.layer.forward_manual(x.cuda(), "GEMV"), y)


@pytest.mark.parametrize("M", [FEW_ROWS, SOME_ROWS])
def test_nothing_is_measured_while_a_graph_is_captured(problem, monkeypatch, M):
    x = activations(M, K).cuda()
    y = problem.layer(x)  # compiles
    monkeypatch.setattr(tuning, "_measures", True)
    monkeypatch.setattr(tuning, "measured", None)  # would raise
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = problem.layer(x)
    x.zero_()
    graph.replay()
    assert torch.equal(captured.cpu(), problem.bias.expand(M, N))
    x.copy_(activations(M, K))
    graph.replay()
    assert torch.equal(captured, y)


def test_a_graph_may_be_the_first_to_call_a_layer():
    layer, x = (
        make(4, 128, N=N + 16, K=K, bias=torch.float32).layer.cuda(),
        activations(2, K).cuda(),
    )
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = layer(x)
    graph.replay()
    assert torch.equal(captured, layer(x))


# torch.compile, streams, devices


@pytest.fixture
def fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("M", [1, FEW_ROWS, SOME_ROWS, MANY_ROWS])
def test_torch_compile_with_cuda_graphs(fresh_compiler, problem, M):
    model = torch.nn.Sequential(problem.layer, torch.nn.ReLU())
    compiled = torch.compile(model, fullgraph=True, mode="reduce-overhead")
    for seed in range(4):
        x = activations(M, K, seed=seed).cuda()
        assert torch.equal(compiled(x).clone(), model(x))


@pytest.mark.parametrize("M", [64, 100, 256, 1024])
def test_the_tiles_of_many_rows_are_the_same_compiled_and_in_graphs(fresh_compiler, M):
    layer = make(4, 128, N=4096, K=4096, bias=torch.float16).layer.cuda()
    assert layer.explain(M).startswith(f"M = {M}: GEMM_FAST, gemm_a16wn_fast\npacked")
    compiled = torch.compile(layer, fullgraph=True, mode="reduce-overhead")
    for seed in range(3):
        x = activations(M, 4096, seed=seed).cuda()
        with torch.cuda.stream(torch.cuda.Stream()):
            y = layer(x)
            torch.cuda.current_stream().synchronize()
        assert torch.equal(compiled(x).clone(), y)


def test_torch_compile_scales_activations_in_the_graph(fresh_compiler):
    layer = make(8, N=N, K=K, x=DType.INT8, weights=torch.int8, scaled=True).layer.cuda()
    compiled = torch.compile(layer, fullgraph=True, mode="reduce-overhead")
    for seed in range(3):
        x = activations(3, K, seed=seed).cuda()
        # A code may be another one where a compiler's quotient rounds the other way.
        torch.testing.assert_close(compiled(x).clone(), layer(x), rtol=2**-5, atol=2**-3)


def test_one_graph_for_any_number_of_rows(fresh_compiler, problem):
    compiled = torch.compile(problem.layer, fullgraph=True, dynamic=True)
    compiled(activations(2, K).cuda())
    with torch.compiler.set_stance("fail_on_recompile"):
        for M in (3, 16, 65):
            x = activations(M, K).cuda()
            assert torch.equal(compiled(x), problem.layer(x))


@pytest.mark.parametrize("M", [1, FEW_ROWS, SOME_ROWS, MANY_ROWS])
def test_it_runs_on_the_current_stream(problem, M):
    x = activations(M, K)
    expected = problem.layer(x.cuda())  # compiles
    late_x, stream = torch.zeros_like(x).cuda(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late_x.copy_(x)
        y = problem.layer(late_x)
    stream.synchronize()
    assert torch.equal(y, expected)


@pytest.mark.parametrize("number", range(torch.cuda.device_count()))
@pytest.mark.parametrize("M", [1, FEW_ROWS, SOME_ROWS, MANY_ROWS])
def test_it_runs_where_its_tensors_are(problem, M, number):
    x, device = activations(M, K), torch.device("cuda", number)
    expected = problem.layer(x.cuda())
    y = problem.layer.to(device)(x.to(device))
    assert y.device == device and torch.cuda.current_device() == 0
    assert torch.equal(y.cpu(), expected.cpu())
    problem.assert_right(y, x, kernel=kernel_for(problem.layer, M))


def test_cpu_and_gpu_agree_in_one_process(problem):
    x = activations(3, K)
    y = problem.layer(x.cuda())
    problem.assert_right(problem.layer.cpu()(x), x, kernel="GEMM_SPLITK")
    assert torch.equal(problem.layer.cuda()(x.cuda()), y)


# Of one call nothing stays for the next


@pytest.mark.parametrize("M", [1, FEW_ROWS])
def test_few_rows_are_for_the_cuda_kernel(problem, M):
    assert kernel_for(problem.layer, M) == "GEMV_FAST"


def test_other_weights_are_those_that_count(problem):
    layer, x = problem.layer, activations(1, K)
    first = layer(x.cuda())
    other = make(4, 64, N=N, K=K, bias=torch.float16, seed=7)
    layer.pack(other.codes.cuda(), other.scales, other.zeros, other.bias)
    other.assert_right(layer(x.cuda()), x, kernel="GEMV_FAST")
    layer.load_state_dict(make(4, 64, N=N, K=K, bias=torch.float16).layer.state_dict())
    assert torch.equal(layer(x.cuda()), first)
    layer.bias = torch.nn.Parameter(problem.bias.float().cuda() + 1, requires_grad=False)
    torch.testing.assert_close(layer(x.cuda()), first + 1, rtol=2**-9, atol=2**-6)


@pytest.mark.parametrize("M", [1, SOME_ROWS, MANY_ROWS])
def test_many_calls_in_several_threads_and_streams_do_not_meet(problem, M):
    rows = [activations(M, K, seed=seed).cuda() for seed in range(8)]
    expected = [problem.layer(x) for x in rows]
    torch.cuda.synchronize()

    def work(number):
        with torch.inference_mode(), torch.cuda.stream(torch.cuda.Stream()):
            found = [problem.layer(rows[number]) for _ in range(200)]
            torch.cuda.current_stream().synchronize()
        return all(torch.equal(y, expected[number]) for y in found)

    with ThreadPoolExecutor() as threads:
        assert all(threads.map(work, range(len(rows))))


@pytest.mark.parametrize("kernel", MATMUL_TYPES)
def test_where_torch_is_not_told_y_is_the_same_in_a_graph_too(problem, kernel, monkeypatch):
    x = activations(SOME_ROWS, K).cuda()
    y = problem.layer.forward_manual(x, kernel)
    monkeypatch.setattr(linear_module, "linear", None)
    with torch.inference_mode():
        assert torch.equal(problem.layer.forward_manual(x, kernel), y)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = problem.layer.forward_manual(x, kernel)
        for made in (x, captured):
            made.zero_()
        x.copy_(activations(SOME_ROWS, K))
        graph.replay()
        assert torch.equal(captured, y)


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_x_that_begins_anywhere_and_any_leading_dimensions(problem, mode):
    x = activations(6, K).cuda()
    with mode():
        y = problem.layer(x)
        shifted = torch.empty(6 * K + 1, device="cuda").half()[1:].view(6, K).copy_(x)
        for view in (shifted, x.reshape(2, 3, K), x.T.contiguous().T):
            assert torch.equal(problem.layer(view).reshape(6, N), y)
        assert torch.equal(problem.layer(x[0]), problem.layer(x[:1])[0])
