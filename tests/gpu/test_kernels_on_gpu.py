"""Every kernel on the GPU against the oracle, and against the simulator."""

import pytest
import torch
from kernel_cases import (
    CASES,
    PACKED_KERNELS,
    Case,
    compile_for_gpu,
    is_right,
    make_case,
    one_case_of_each_build,
    poison,
)

from gemlite_edu import load, pack_warped_int32
from gemlite_edu.kernels import sources
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.machine import shared_bytes_per_block
from gemlite_edu.kernels.plan import Launch
from gemlite_edu.numbers.checks import pointers_of
from gemlite_edu.runners import cuda
from gemlite_lab import check

CASES_FOR_BOTH_RUNNERS = [
    case for case in CASES if case.is_exact and case.N * case.K * case.M <= 2**19
][::11]


def builds():
    """What builds.py compiles."""
    return [(compile_for_gpu, case) for case in one_case_of_each_build()]


def run_on_gpu(case, inputs):
    return case.load()(*inputs.operands("cuda"), out=poison(case, "cuda")).cpu()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run_on_gpu(case, inputs))


@pytest.mark.parametrize("case", CASES_FOR_BOTH_RUNNERS, ids=str)
def test_both_runners_agree_bit_for_bit(case):
    inputs = make_case(case, seed=1)
    assert torch.equal(run_on_gpu(case, inputs), case.load()(*inputs.operands()))


def example(kernel, **changes):
    """A case with 4-bit codes where the kernel has a width, and groups."""
    launch = KERNELS[kernel]
    variant = (kernel, 4 if launch.takes_nbits else None)
    return Case(variant, launch.x_dtypes[0], **dict(N=70, K=600, M=2, scope=40) | changes)


@pytest.fixture
def small():
    W_q = torch.randint(0, 16, (70, 600), dtype=torch.uint8)
    x = torch.randint(-3, 4, (2, 600)).half()
    expected = load("gemv_a16wn_fp32", nbits=4)(x, pack_warped_int32(W_q, 4), 0.125, 7.0)
    return x.cuda(), pack_warped_int32(W_q, 4).cuda(), expected


def test_it_runs_on_the_current_stream(small):
    x, W_packed, expected = small
    kernel = load("gemv_a16wn_fp32", nbits=4, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    late_x = torch.zeros_like(x)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late_x.copy_(x)
        y = kernel(late_x, W_packed, 0.125, 7.0)
    stream.synchronize()
    assert torch.equal(y.cpu(), expected)


@pytest.mark.parametrize("kernel", PACKED_KERNELS)
def test_it_can_be_captured_in_a_graph(kernel):
    case = example(kernel)
    inputs = make_case(case)
    kernel, operands, y = case.load(), inputs.operands("cuda"), poison(case, "cuda")
    kernel.compile_for_gpu(y.device, case.M)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(*operands, out=y)
    graph.replay()
    assert is_right(case, inputs, y.cpu())


def test_x_may_fill_the_shared_memory_of_a_block():
    K = shared_bytes_per_block(torch.cuda.get_device_capability()) // 2
    x = torch.zeros(1, K + 1).half()
    x[0, torch.randperm(K)[:50]] = 1.0
    x[0, [0, K - 1]] = 1.0
    W = torch.randint(-9, 10, (33, K + 1)).half()
    kernel = load("gemv_a16w16_shared")
    y = kernel(x[:, :K].cuda(), W[:, :K].cuda()).cpu()
    assert torch.equal(y, (x[:, :K].float() @ W[:, :K].float().T).half())
    with pytest.raises(ValueError, match="bytes of shared memory"):
        kernel(x.cuda(), W.cuda())


@pytest.mark.parametrize("kernel", PACKED_KERNELS)
@pytest.mark.parametrize("M, K", [(1, 200_000), (9, 25_000)])
def test_x_may_be_longer_than_the_shared_memory_of_a_block(kernel, M, K):
    case = example(kernel, N=33, M=M, K=K, scope=1000)
    inputs = make_case(case)
    assert is_right(case, inputs, run_on_gpu(case, inputs))


def test_the_table_of_shared_memory_is_what_the_device_says():
    properties = torch.cuda.get_device_properties(0)
    capability = torch.cuda.get_device_capability(0)
    assert shared_bytes_per_block(capability) == properties.shared_memory_per_block_optin


def test_tensors_on_two_devices_are_refused(small):
    x, W_packed, _ = small
    kernel = load("gemv_a16wn_fp32", nbits=4)
    with pytest.raises(ValueError, match="x is on cpu and W on cuda:0"):
        kernel(x.cpu(), W_packed, 1.0, 7.0)
    with pytest.raises(ValueError, match="scales is on cpu"):
        kernel(x, W_packed, torch.ones(70, 1), 7.0)
    with pytest.raises(ValueError, match="loaded for 'cpu'"):
        load("gemv_a16wn_fp32", nbits=4, device="cpu")(x, W_packed, 1.0, 7.0)


def test_a_compile_error_of_nvcc_shows_the_learners_line():
    text = (
        "\n__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {\n  return a;\n}"
    )
    with pytest.raises(
        KernelTextError, match=r'dequant_dot, line 2: .*"a" is undefined\n +return a;'
    ):
        load("gemv_a16wn_fp32", nbits=4, replace={"dequant_dot": text}, device="cuda")


def test_a_failed_launch_is_an_error(small):
    x, W_packed, _ = small
    library = load("gemv_a16wn_fp32", nbits=4).compile_for_gpu(x.device, M=2)
    ones = torch.ones(70).cuda()
    y = torch.empty(2, 70).half().cuda()
    launch = cuda.ReadyLaunch(library, Launch((3, 1), 2048, 4096, (2, 70, 600, 1, 3)), x.device)
    with pytest.raises(RuntimeError, match="the launch failed"):
        launch(pointers_of((x, W_packed, ones, ones, y)))
    assert torch.zeros(1).cuda().item() == 0, "the error stays behind for the next call"


@pytest.mark.parametrize("name", ["dequant_dot", "warp_reduce_sum"])
def test_checks_run_on_the_gpu_too(name, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))
    kernel = "gemv_a16wn_fp32" if name == "dequant_dot" else "gemv_a16w16_warp"
    check(name, sources.hole(name, kernel))
    assert f"{name}: right on your GPU" in capsys.readouterr().out


def test_all_kernels_are_covered():
    assert {case.kernel for case in CASES} == set(KERNELS)
