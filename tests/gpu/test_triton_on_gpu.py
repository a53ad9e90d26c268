"""Every Triton kernel, compiled, against the oracle and against the interpreter."""

from dataclasses import replace

import pytest
import torch
from triton_cases import (
    CASES,
    E4M3,
    E5M2,
    EXACT,
    FP32,
    example,
    fp8_products,
    is_right,
    make_case,
    poisoned,
    right_answer,
    run,
)

from gemlite_edu.kernels.triton import KERNELS
from gemlite_edu.numbers.weight_modes import ChannelScaleMode, WeightMode
from gemlite_edu.operators.triton_product import dense, matmul
from gemlite_edu.runners.triton import kernel

CASES_FOR_BOTH_MODES = [case for case in CASES if case.data == EXACT and case.turns <= 400][::20]
any_kernel = pytest.mark.parametrize("name", KERNELS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case)
    with poisoned():
        y = run(case, inputs.on("cuda"))
    assert is_right(case, inputs, y)


@pytest.mark.parametrize("case", CASES_FOR_BOTH_MODES, ids=str)
def test_both_modes_agree_bit_for_bit(case):
    inputs = make_case(case, seed=1)
    assert torch.equal(run(case, inputs.on("cuda")).cpu().double(), run(case, inputs).double())


@any_kernel
def test_what_runs_on_the_gpu_was_compiled(name):
    from triton.runtime.jit import JITFunction

    function = kernel(name, interpreted=False)
    compiled = function.device_caches[0][0]
    compiled.clear()
    case = example(name, N=70, M=6)
    run(case, make_case(case).on("cuda"))
    assert isinstance(function, JITFunction) and compiled


@any_kernel
def test_it_runs_on_the_current_stream(name):
    case = example(name)
    inputs = make_case(case)
    on_gpu = inputs.on("cuda")
    run(case, on_gpu)
    late_x = torch.zeros_like(on_gpu.x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late_x.copy_(on_gpu.x)
        y = run(case, replace(on_gpu, x=late_x))
    stream.synchronize()
    assert is_right(case, inputs, y)


@any_kernel
@pytest.mark.parametrize("atomic", [False, True])
def test_it_can_be_captured_in_a_graph(name, atomic):
    case = example(name, atomic=atomic and name != "gemm")
    inputs = make_case(case)
    on_gpu = inputs.on("cuda")
    run(case, on_gpu)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run(case, on_gpu)
    for _ in range(3):  # atomic: each replay must start from 0
        y.fill_(torch.nan)
        graph.replay()
        assert is_right(case, inputs, y)


@pytest.mark.parametrize("device", range(torch.cuda.device_count()))
@any_kernel
def test_it_runs_on_the_gpu_of_its_tensors(name, device):
    case = example(name)
    inputs = make_case(case)
    with poisoned():
        y = run(case, inputs.on(f"cuda:{device}"))
    assert y.device == torch.device("cuda", device)
    assert is_right(case, inputs, y)
    assert torch.cuda.current_device() == 0


@any_kernel
@pytest.mark.parametrize("M", [1, 100])
def test_two_runs_give_the_same_bits(name, M):
    generator = torch.Generator().manual_seed(0)
    case = example(name, M=M, data="random", zeros="fractions")
    inputs = make_case(case).on("cuda")
    x = torch.randn(M, case.K, generator=generator).half().cuda()
    first = run(case, replace(inputs, x=x))
    assert all(torch.equal(run(case, replace(inputs, x=x)), first) for _ in range(5))


@any_kernel
@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=str)
def test_every_number_of_fp8_is_read_right(name, dtype):
    for y, expected in fp8_products(name, dtype, "cuda"):
        assert torch.equal(y, expected)


@pytest.mark.parametrize("M", [1, 16, 100])
@any_kernel
def test_the_default_config_is_right(name, M):
    case = example(name, M=M, N=2032, K_and_group=(4096, 128), chunks=None)
    inputs = make_case(case)
    on_gpu = inputs.on("cuda")
    with poisoned():
        y = matmul(name, on_gpu.x, on_gpu.weight, epilogue=on_gpu.epilogue)
    assert torch.equal(y.cpu(), right_answer(case, inputs))


@pytest.mark.parametrize("mode", list(WeightMode))
@pytest.mark.parametrize("weights", [8, 4, 3, 2, 1])
def test_dense_weights_are_the_weights(weights, mode):
    case = example("gemm", weights=weights, mode=mode, word_bits=None, K_and_group=(1024, 64))
    case = replace(case, scale_dtype=FP32, channel_mode=ChannelScaleMode.WEIGHT)
    inputs = make_case(case)
    codes, zeros, scales = inputs.product.parts
    W = (codes - zeros) * scales * inputs.product.channel_scales[:, None]
    assert torch.equal(dense(inputs.on("cuda").weight, FP32).cpu().double(), W)
