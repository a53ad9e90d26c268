"""Products with int4 weights, compiled: every case against the oracle; training through them."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest
import torch
from int4_cases import (
    BF16,
    CASES,
    CONFIG,
    EXACT,
    FORWARD,
    FP16,
    FP32,
    PLAIN,
    RANDOM,
    S4,
    SLICED,
    T_VIEW,
    TRANSPOSED,
    U4,
    bound_of,
    example,
    is_right,
    laid_out,
    make_case,
    poisoned,
    product_of,
    run,
)
from torch.utils.checkpoint import checkpoint

from gemlite_edu import Int4Linear, triton_mixed_mm
from gemlite_edu.kernels.triton import INT4_KERNELS
from gemlite_edu.kernels.triton.mixed_mm_configs import candidates
from gemlite_edu.numbers import bounds
from gemlite_edu.operators import mixed_mm, tuning
from gemlite_edu.operators.choose import INT4_RULES, Rows, Rule, choose
from gemlite_edu.operators.mixed_mm import KERNEL_TYPES, dense
from gemlite_edu.runners.triton import kernel

DIRECTIONS = (FORWARD, TRANSPOSED)
N, K, GROUP = 1024, 1024, 128
both_directions = pytest.mark.parametrize("direction", DIRECTIONS)
IN_BOTH_MODES = {
    "direction": DIRECTIONS,
    "K_and_group": ((384, 128), (66, 33)),
    "codes": (U4, S4),
    "a_dtype": (FP16, BF16),
}
every_call = pytest.mark.parametrize("call", [CONFIG, *KERNEL_TYPES])


def candidate_cases():
    """Every config that may be tried for a problem of moderate size, by either kernel type."""
    cases = {}
    for direction in DIRECTIONS:
        for M in (16, 64, 256):
            for few_rows in (False, True):
                problem = (M, N, K, GROUP, direction == TRANSPOSED, few_rows)
                for config in candidates(*problem):
                    *blocks, chunks, warps, stages = config.values()
                    case = example(
                        direction, M=M, N=N, K_and_group=(K, GROUP), chunks=chunks,
                        block_m=blocks[0], block_n=blocks[1], block_k=blocks[2],
                        warps_stages=(warps, stages),
                    )  # fmt: skip
                    cases[case] = None
    return list(cases)


CANDIDATE_CASES = candidate_cases()


def called(direction, call, **changes):
    """An example that `call` computes."""
    if call != CONFIG:
        changes |= dict.fromkeys(("block_m", "block_n", "block_k", "chunks", "warps_stages"))
        changes |= {"data": RANDOM} if call == "dequantize" else {}
    return example(direction, call=call, **changes)


@pytest.fixture(autouse=True)
def default_configs(monkeypatch, tmp_path):
    """Nothing is known or measured, unless a test turns it on."""
    monkeypatch.setattr(tuning, "_configs", {})
    monkeypatch.setattr(tuning, "_SHIPPED", tmp_path)
    monkeypatch.setattr(tuning, "_measures", False)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case, device="cuda")
    with poisoned():
        y = run(case, inputs)
    assert y.is_cuda and is_right(case, inputs, y)


@pytest.mark.parametrize("case", CANDIDATE_CASES, ids=str)
def test_every_config_that_is_tried_is_right(case):
    assert case.data == EXACT
    test_it_gives_the_right_answer(case)


@pytest.mark.parametrize("name, direction", [*zip(INT4_KERNELS, DIRECTIONS, strict=True)])
def test_what_runs_on_the_gpu_was_compiled(name, direction):
    from triton.runtime.jit import JITFunction

    function = kernel(name, interpreted=False)
    compiled = function.device_caches[0][0]
    compiled.clear()
    case = example(direction, block_m=32, block_n=32, K_and_group=(30, 15))
    run(case, make_case(case, device="cuda"))
    assert isinstance(function, JITFunction) and compiled


@pytest.mark.parametrize(", ".join(IN_BOTH_MODES), [*product(*IN_BOTH_MODES.values())])
def test_both_modes_agree_bit_for_bit(direction, K_and_group, codes, a_dtype):
    case = example(direction, K_and_group=K_and_group, codes=codes, a_dtype=a_dtype)
    inputs = make_case(case, seed=1)
    assert torch.equal(run(case, make_case(case, seed=1, device="cuda")).cpu(), run(case, inputs))


@both_directions
@every_call
@pytest.mark.parametrize("K_and_group", [(192, 96), (70, 7)], ids=str)
def test_strides_change_no_bit(direction, call, K_and_group):
    case = called(direction, call, data=RANDOM, K_and_group=K_and_group)
    inputs = make_case(case, device="cuda")
    expected = run(case, inputs)
    for memory in (T_VIEW, SLICED, PLAIN):
        scales, b = laid_out(inputs.scales, memory), laid_out(inputs.b, memory)
        zeros = laid_out(inputs.zeros, memory)
        for other in (
            replace(inputs, scales=scales, zeros=zeros),
            replace(inputs, scales=scales),
            replace(inputs, b=b),
            replace(inputs, a=laid_out(inputs.a, memory)),
        ):
            assert torch.equal(run(case, other), expected)


@both_directions
@every_call
@pytest.mark.parametrize("M", [3, 100])
def test_two_runs_give_the_same_bits(direction, call, M):
    case = called(direction, call, data=RANDOM, M=M)
    inputs = make_case(case, device="cuda")
    first = run(case, inputs)
    assert all(torch.equal(run(case, inputs), first) for _ in range(5))


@both_directions
@every_call
def test_no_rows_are_no_rows(direction, call):
    case = called(direction, call, M=0)
    y = run(case, make_case(case, device="cuda"))
    assert y.is_cuda and y.shape == (0, case.K if case.transposed else case.N)


@both_directions
@every_call
def test_what_is_no_number_stays_in_its_row_and_its_group(direction, call):
    case = called(direction, call, data=RANDOM, K_and_group=(70, 7))
    inputs = make_case(case, device="cuda")
    a, scales = inputs.a.clone(), inputs.scales.clone()
    a[1, 3], scales[4, 20] = torch.nan, torch.nan
    lost = torch.zeros(inputs.product.exact().shape, dtype=torch.bool, device="cuda")
    lost[1] = True
    lost[:, 28 : 35 if case.transposed else 20] = case.transposed
    lost[:, 20] |= not case.transposed
    y = run(case, replace(inputs, a=a, scales=scales))
    assert torch.equal(y.isnan(), lost)


@pytest.mark.parametrize("power, of_a", [(-30, 14), (20, -14)])
def test_scales_outside_of_fp16_are_kept_by_the_forward_product(power, of_a):
    case = example(FORWARD)
    inputs = make_case(case, device="cuda")
    scales, a = inputs.scales * 2.0**power, inputs.a * 2.0**of_a
    expected = replace(inputs.product, x=a.cpu(), scales=scales.T.cpu()).exact().half()
    assert expected.isfinite().any() and expected.any()
    assert torch.equal(run(case, replace(inputs, a=a, scales=scales)).cpu(), expected)


@both_directions
def test_bytes_far_apart_are_found(direction):
    """Rows of bytes 32 MiB apart, the last ones beyond 2**31."""
    case = example(direction, N=8, K_and_group=(160, 32), data=RANDOM)
    inputs = make_case(case, device="cuda")
    apart = torch.empty(2**25 * len(inputs.b), dtype=torch.uint8, device="cuda")
    b = apart.as_strided(inputs.b.shape, (2**25, 1)).copy_(inputs.b)
    assert torch.equal(run(case, replace(inputs, b=b)), run(case, inputs))


@pytest.mark.parametrize("codes", [U4, S4])
@pytest.mark.parametrize("dtype", [FP16, BF16, FP32])
@pytest.mark.parametrize("K_and_group", [(384, 128), (70, 7), (34, 1), (144, 48)], ids=str)
def test_dense_weights_are_those_of_float32_rounded_once(codes, dtype, K_and_group):
    case = example(codes=codes, K_and_group=K_and_group, N=129, data=RANDOM)
    inputs = make_case(case, device="cuda")
    raised = 8 * (codes == S4)
    of_columns = (
        t.cpu().repeat_interleave(case.group_size, dim=0) for t in (inputs.scales, inputs.zeros)
    )
    scales, zeros = of_columns
    W = ((inputs.product.codes.T.float() + raised) - (zeros + raised)) * scales
    with poisoned():
        assert torch.equal(dense(inputs.weight, dtype).cpu(), W.T.to(dtype))


@both_directions
@every_call
def test_it_runs_on_the_current_stream(direction, call):
    case = called(direction, call)
    inputs = make_case(case, device="cuda")
    run(case, inputs)
    late_a = torch.zeros_like(inputs.a)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late_a.copy_(inputs.a)
        y = run(case, replace(inputs, a=late_a))
    stream.synchronize()
    assert is_right(case, inputs, y)


@both_directions
@every_call
def test_it_can_be_captured_in_a_graph(direction, call):
    case = called(direction, call)
    inputs = make_case(case, device="cuda")
    run(case, inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run(case, inputs)
    for _ in range(3):
        y.fill_(torch.nan)
        graph.replay()
        assert is_right(case, inputs, y)


@pytest.mark.parametrize("device", range(torch.cuda.device_count()))
@both_directions
@every_call
def test_it_runs_on_the_gpu_of_its_tensors(direction, call, device):
    case = called(direction, call)
    inputs = make_case(case, device=f"cuda:{device}")
    with poisoned():
        y = run(case, inputs)
    assert y.device == torch.device("cuda", device)
    assert is_right(case, inputs, y)
    assert torch.cuda.current_device() == 0


@both_directions
@pytest.mark.parametrize("call", ["compute_bound", "max_autotune"])
def test_what_is_measured_is_right_and_kept_for_its_own_problem(direction, call, monkeypatch):
    monkeypatch.setattr(tuning, "_measures", True)
    monkeypatch.setattr(mixed_mm, "INT4_RULES", (Rule("FUSED", None, "a test says so"),))
    case = called(direction, call, M=64, N=N, K_and_group=(K, GROUP))
    inputs = make_case(case, device="cuda")
    with poisoned():
        y = run(case, inputs)
    assert is_right(case, inputs, y)
    known = tuning._configs[torch.cuda.get_device_name()]
    ((key, config),) = known.items()
    problem = (64, N, K, GROUP, case.transposed)
    assert config in candidates(*problem, few_rows=call == "max_autotune")
    assert call in key and ("transposed" in key) == case.transposed
    monkeypatch.setattr(tuning, "fastest", None)  # would raise
    assert torch.equal(run(case, inputs), y)


def test_nothing_is_measured_while_a_graph_is_captured(monkeypatch):
    case = called(FORWARD, "max_autotune")
    inputs = make_case(case, device="cuda")
    run(case, inputs)
    monkeypatch.setattr(tuning, "_measures", True)
    monkeypatch.setattr(tuning, "fastest", None)  # would raise
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run(case, inputs)
    graph.replay()
    assert is_right(case, inputs, y)


def test_operands_on_different_devices_get_one_sentence():
    inputs = make_case(example(), device="cuda")
    a, b, scales, zeros, group_size = inputs.operands
    for operands, sentence in (
        ((a.cpu(), b, scales, zeros), "a is on cpu and b on cuda:0: move one"),
        ((a, b, scales.cpu(), zeros), "scales is on cpu and packed on cuda:0: move one"),
        ((a, b, scales, zeros.cpu()), "zeros is on cpu and packed on cuda:0: move one"),
    ):
        with pytest.raises(ValueError, match=sentence):
            triton_mixed_mm(*operands, group_size)


# Int4Linear


def make_problem(codes=U4):
    """A layer on the GPU, and its weight on the CPU."""
    case = example(codes=codes, N=300, K_and_group=(384, 128), data=RANDOM)
    inputs = make_case(case)
    bias = torch.randn(case.N, generator=torch.Generator().manual_seed(0)).half()
    layer = Int4Linear(*inputs.operands[1:], bias).cuda()
    return SimpleNamespace(layer=layer, weight=inputs.weight, codes=codes)


@pytest.fixture
def problem():
    return make_problem()


def activations(*shape, dtype=FP16, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def assert_near(problem, y, x, transposed):
    """y without a bias, as near to the oracle as what computed it comes."""
    right = product_of(x.cpu(), problem.weight, transposed)
    if y.dtype in (FP16, BF16):
        is_fused = choose(Rows(len(x)), INT4_RULES).matmul_type == "FUSED"
        allowed = bound_of(right, transposed, is_fused, y.dtype, problem.codes)
    elif y.dtype == FP32:
        codes, zeros, scales = right.parts
        allowed = bounds.error_bound(right.x, (codes - zeros) * scales, FP32)
    else:
        allowed = 1e-10
    assert ((y.cpu().double() - right.exact()).abs() <= allowed).all()


def forward_and_backward(model, x, dy=None):
    """(y, gradient of x)."""
    x = x.detach().clone().requires_grad_()
    y = model(x)
    y.backward(torch.ones_like(y) if dy is None else dy)
    return y.detach(), x.grad


@pytest.mark.parametrize("M", [1, 3, 64, 200, 1000])
@pytest.mark.parametrize("dtype", [FP16, BF16, FP32, torch.float64], ids=str)
@pytest.mark.parametrize("codes", [U4, S4], ids=["u4", "s4"])
def test_a_layer_and_its_gradient_are_as_near_to_the_oracle_as_derived(codes, dtype, M):
    problem = make_problem(codes)
    x, dy = activations(M, 384, dtype=dtype), activations(M, 300, dtype=dtype, seed=2)
    layer = problem.layer
    layer.bias = None
    y, dx = forward_and_backward(layer, x.cuda(), dy.cuda())
    assert y.dtype == dx.dtype == dtype
    assert_near(problem, y, x, False)
    assert_near(problem, dx, dy, True)


@pytest.mark.parametrize("dtype", [FP16, BF16], ids=str)
def test_a_gradient_that_is_expanded_or_strided_is_taken(problem, dtype):
    x = activations(70, 384, dtype=dtype).cuda()
    for dy in (
        activations(1, 300, dtype=dtype).expand(70, -1),
        activations(300, 70, dtype=dtype).T,
    ):
        _, dx = forward_and_backward(problem.layer, x, dy.cuda())
        _, expected = forward_and_backward(problem.layer, x, dy.contiguous().cuda())
        assert torch.equal(dx, expected)


def test_rows_may_have_any_shape(problem):
    for shape in ((384,), (2, 3, 384), (0, 384), (2, 0, 384)):
        y, dx = forward_and_backward(problem.layer, activations(*shape).cuda())
        assert y.shape == (*shape[:-1], 300) and dx.shape == shape


@pytest.mark.parametrize("autocast_dtype", [FP16, BF16], ids=str)
def test_autocast_computes_in_its_type(problem, autocast_dtype):
    x = activations(5, 384, dtype=FP32).cuda().requires_grad_()
    with torch.autocast("cuda", autocast_dtype):
        y = problem.layer(x)
        y.sum().backward()
    assert y.dtype == autocast_dtype and x.grad.dtype == FP32
    assert torch.equal(y, problem.layer(x.detach().to(autocast_dtype)))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpoint_changes_nothing(problem, use_reentrant):
    x = activations(5, 384).cuda()
    expected = forward_and_backward(problem.layer, x)
    got = forward_and_backward(
        lambda x: checkpoint(problem.layer, x, use_reentrant=use_reentrant), x
    )
    assert all(map(torch.equal, got, expected))


@pytest.fixture
def fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("M", [3, 200])
def test_torch_compile_with_cuda_graphs(fresh_compiler, problem, M):
    model = torch.nn.Sequential(problem.layer, torch.nn.ReLU())
    compiled = torch.compile(model, fullgraph=True, mode="reduce-overhead")
    for seed in range(4):
        x = activations(M, 384, seed=seed).cuda()
        got, expected = forward_and_backward(compiled, x), forward_and_backward(model, x)
        assert all(map(torch.equal, got, expected))


def test_one_graph_for_any_number_of_rows(fresh_compiler, problem):
    compiled = torch.compile(problem.layer, fullgraph=True, dynamic=True)
    forward_and_backward(compiled, activations(4, 384).cuda())
    with torch.compiler.set_stance("fail_on_recompile"):
        for M in (3, 16, 65, 200):
            x = activations(M, 384).cuda()
            got, expected = (
                forward_and_backward(compiled, x),
                forward_and_backward(problem.layer, x),
            )
            assert all(map(torch.equal, got, expected))


def test_a_step_there_and_back_can_be_captured_in_a_graph(problem):
    x, dy = activations(5, 384).cuda(), activations(5, 300, seed=2).cuda()
    expected = forward_and_backward(problem.layer, x, dy)
    graph, late = torch.cuda.CUDAGraph(), torch.zeros_like(x).requires_grad_()
    with torch.cuda.graph(graph):
        y = problem.layer(late)
        (dx,) = torch.autograd.grad(y, late, dy)
    with torch.no_grad():
        late.copy_(x)
    graph.replay()
    assert torch.equal(y, expected[0]) and torch.equal(dx, expected[1])


def test_the_op_is_registered_as_torch_asks(problem):
    op, layer = torch.ops.gemlite_edu.mixed_mm, problem.layer
    for dtype, transposed in ((FP16, False), (BF16, True)):
        x = activations(3, 300 if transposed else 384, dtype=dtype).cuda().requires_grad_()
        operands = layer.packed.T, layer.scales, layer.zeros, layer.group_size, transposed
        torch.library.opcheck(op, (x, *operands))


@pytest.mark.parametrize("M", [64, 1000])
def test_nothing_of_the_weights_size_is_left_behind(problem, M):
    x = activations(M, 384).cuda()
    expected = forward_and_backward(problem.layer, x)
    before = torch.cuda.memory_allocated()
    for _ in range(3):
        assert all(map(torch.equal, forward_and_backward(problem.layer, x), expected))
    assert torch.cuda.memory_allocated() == before


def test_an_adapter_learns_beside_the_frozen_weight(problem):
    torch.manual_seed(0)
    layer = problem.layer
    before = {name: buffer.clone() for name, buffer in layer.named_buffers()}
    adapter = torch.nn.Sequential(
        torch.nn.Linear(384, 4, bias=False), torch.nn.Linear(4, 384, bias=False)
    ).cuda()
    torch.nn.init.zeros_(adapter[1].weight)
    x = activations(64, 384, dtype=FP32).cuda()
    moved = (
        x
        + (x @ activations(384, 2, dtype=FP32).cuda() / 20)
        @ activations(2, 384, dtype=FP32, seed=3).cuda()
    )
    optimizer, losses = torch.optim.Adam(adapter.parameters(), lr=3e-3), []
    with torch.autocast("cuda", BF16), torch.no_grad():
        target = layer(moved).float()
    for _ in range(150):
        with torch.autocast("cuda", BF16):
            y = layer(x + adapter(x))  # the gradient comes back through the transposed kernel
        loss = torch.nn.functional.mse_loss(y.float(), target)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < losses[0] / 10
    assert all(torch.equal(buffer, before[name]) for name, buffer in layer.named_buffers())


def test_cpu_and_gpu_agree_in_one_process(problem):
    x, dy = activations(3, 384), activations(3, 300, seed=2)
    on_gpu = forward_and_backward(problem.layer, x.cuda(), dy.cuda())
    on_cpu = forward_and_backward(problem.layer.cpu(), x, dy)
    for got, expected in zip(on_gpu, on_cpu, strict=True):
        torch.testing.assert_close(got.cpu(), expected, rtol=2**-8, atol=2**-4)
    again = forward_and_backward(problem.layer.cuda(), x.cuda(), dy.cuda())
    assert all(map(torch.equal, again, on_gpu))
