"""Every kernel on the GPU against the oracle, and against the simulator."""

import pytest
import torch
from kernel_cases import CASES, make_case

from gemlite_edu import check, cuda, kernels, load, pack_warped_int32, reference, sources
from gemlite_edu.devices import shared_bytes_per_block
from gemlite_edu.errors import KernelTextError


def poisoned(case):
    return torch.full((case.M, case.N), torch.nan, dtype=case.x_dtype, device="cuda")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exact_inputs_match_bit_for_bit_on_both_runners(case):
    kernel = load(case.kernel, case.nbits, x_dtype=case.x_dtype)
    inputs = make_case(case, exact=True)
    y = kernel(*inputs.operands("cuda"), out=poisoned(case)).cpu()
    assert torch.equal(y, inputs.expected.to(case.x_dtype))
    assert torch.equal(y, kernel(*inputs.operands()))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_random_inputs_stay_within_the_bound_on_both_runners(case, seed):
    kernel = load(case.kernel, case.nbits, x_dtype=case.x_dtype)
    inputs = make_case(case, exact=False, seed=seed)
    bound = reference.error_bound(inputs.x, inputs.W_real, case.x_dtype)
    on_gpu = kernel(*inputs.operands("cuda"), out=poisoned(case)).cpu().double()
    on_cpu = kernel(*inputs.operands()).double()
    assert ((on_gpu - inputs.expected).abs() <= bound).all()
    assert ((on_cpu - inputs.expected).abs() <= bound).all()


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


def test_it_can_be_captured_in_a_graph(small):
    x, W_packed, expected = small
    kernel = load("gemv_a16wn_fp32", nbits=4, device="cuda")
    scales, zeros = torch.full((70, 1), 0.125).cuda(), torch.full((70, 1), 7.0).cuda()
    y = torch.full((2, 70), torch.nan, dtype=torch.float16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(x, W_packed, scales, zeros, out=y)
    graph.replay()
    assert torch.equal(y.cpu(), expected)


def test_x_may_fill_the_shared_memory_of_a_block():
    limit = shared_bytes_per_block(torch.cuda.get_device_capability())
    K = limit // 2 // 256 * 256
    W_q = torch.randint(0, 16, (33, K), dtype=torch.uint8)
    x = torch.zeros(1, K).half()
    x[0, torch.randperm(K)[:50]] = 1.0
    kernel = load("gemv_a16wn_fp32", nbits=4)
    y = kernel(x.cuda(), pack_warped_int32(W_q, 4).cuda(), 1.0, 7.0).cpu()
    assert torch.equal(y, (x.float() @ (W_q.float() - 7).T).half())
    more = torch.zeros(1, K + 256).half().cuda()
    W_packed = torch.zeros(33, (K + 256) // 8, dtype=torch.int32).cuda()
    with pytest.raises(ValueError, match="bytes of shared memory"):
        kernel(more, W_packed, 1.0, 7.0)


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
    library = load("gemv_a16wn_fp32", nbits=4).compile_for_gpu(x.device)
    ones = torch.ones(70).cuda()
    y = torch.empty(2, 70).half().cuda()
    with pytest.raises(RuntimeError, match="the launch failed"):
        cuda.launch(library, [x, W_packed, ones, ones, y, 70, 600], (3, 2), 2048, 2048, x.device)
    assert torch.zeros(1).cuda().item() == 0, "the error stays behind for the next call"


@pytest.mark.parametrize("name", ["dequant_dot", "warp_reduce_sum"])
def test_checks_run_on_the_gpu_too(name, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GEMLITE_EDU_PROGRESS", str(tmp_path / "progress.json"))
    kernel = "gemv_a16wn_fp32" if name == "dequant_dot" else "gemv_a16w16_warp"
    check(name, sources.hole(name, kernel))
    assert f"{name}: right on your GPU" in capsys.readouterr().out


def test_all_kernels_are_covered():
    assert {case.kernel for case in CASES} == set(kernels.KERNELS)
