"""The product by mma.sync on the GPU, which also runs where nothing else needs Hopper."""

from dataclasses import replace

import mma_cases
import pytest
import torch
import triton_cases
from fast_cases import BF16, FP16, LARGEST_ERROR, RANDOM, is_right, make_case, poison, run
from linear_cases import activations, make
from mma_cases import A100, MMA, ONE_BLOCK, Case

from gemlite_edu import load
from gemlite_edu.kernels.machine import AMPERE
from gemlite_edu.kernels.pair_table import pair_table
from gemlite_edu.operators.cuda_product import GEMM_MMA

if torch.cuda.get_device_capability() < AMPERE:
    pytest.skip("gemm_a16wn_mma needs compute capability 8.0", allow_module_level=True)

CASES = list(dict.fromkeys(mma_cases.cases_for_a_gpu()))
CASES_FOR_BOTH_RUNNERS = [c for c in CASES if c.data != RANDOM and c.M * c.N * c.K <= 2**22][::3]
SHAPES = [(4096, 4096), (14336, 4096), (4096, 14336), (1536, 384), (5120, 13824), (8192, 8192)]
ROWS = {8: (16, 64), 4: (9, 16, 32, 48, 64), 2: (16, 64)}
MODELS = [(nbits, N, K) for nbits in ROWS for N, K in SHAPES if K % (512 // nbits) == 0]
EVERY_WAY = [
    Case(4, 32, 1100, 4096, machine=ONE_BLOCK),
    Case(4, 64, 1100, 4096, machine=A100),
    Case(3, 16, 300, 4096, x_dtype=BF16, machine=A100),
]
LAYERS = mma_cases.cases_of_a_layer(count=12)
every_way = pytest.mark.parametrize("case", EVERY_WAY, ids=str)


def compile_case(case, replace=None):
    """The libraries of a case, in the cache."""
    with case.as_planned():
        kernel = case.load(replace=replace)
        kernel.compile_for_gpu(torch.device("cuda", 0), case.M, case.N, case.K + -case.K % 8)


def compile_shape(shape):
    """Those of a shape, in groups of 128."""
    nbits, N, K, M = shape
    load(MMA, nbits, group_size=128).compile_for_gpu(torch.device("cuda", 0), M, N, K)


def builds():
    """What builds.py compiles: for every case, and for the shapes of models."""
    of_cases = {case.build(): case for case in [*CASES, *EVERY_WAY]}
    shapes = [(nbits, N, K, M) for nbits, N, K in MODELS for M in ROWS[nbits]]
    of_shapes = {str(_planned(shape)): shape for shape in shapes}
    return [
        *((compile_case, case) for case in of_cases.values()),
        *((compile_shape, shape) for shape in of_shapes.values()),
    ]


def _planned(shape):
    nbits, N, K, M = shape
    plan = load(MMA, nbits, group_size=128).plan(M, N, K, torch.device("cuda", 0))
    return [launch.defines for launch in plan.launches]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs, "cuda"))


@pytest.mark.parametrize("case", CASES_FOR_BOTH_RUNNERS, ids=str)
def test_both_runners_agree_bit_for_bit(case):
    inputs = make_case(case, seed=1)
    assert torch.equal(run(case, inputs, "cuda").cpu(), run(case, inputs))


@pytest.mark.parametrize("nbits, N, K", MODELS, ids=str)
def test_shapes_of_models(nbits, N, K):
    kernel, at = load(MMA, nbits, group_size=128), dict(device="cuda")
    at["generator"] = torch.Generator("cuda").manual_seed(0)
    W_q = torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8, **at)
    scales = ((0.5 + torch.rand(N, K // 128, **at)) / 2**nbits).half().float()
    zeros = torch.randint(0, 2**nbits, (N, K // 128), **at).float()
    packed = kernel.pack(W_q, scales, zeros)
    zero, scale = (t.double().repeat_interleave(128, dim=1) for t in (zeros, scales))
    W = (W_q.double() - zero) * scale
    for M in ROWS[nbits]:
        x = torch.randn(M, K, **at).half()
        exact = x.double() @ W.T
        error = (kernel(x, *packed).double() - exact).norm() / exact.norm()
        assert error < LARGEST_ERROR[FP16], M


@every_way
def test_many_runs_give_the_same_bits(case):
    inputs, kernel = make_case(replace(case, data=RANDOM)), case.load()
    operands = inputs.operands(case, kernel, "cuda")
    with case.as_planned():
        expected = kernel(**operands)
        out, wrong = torch.empty_like(expected), torch.zeros((), dtype=torch.int64, device="cuda")
        for _ in range(500):
            out.fill_(torch.nan)
            wrong += (kernel(**operands, out=out) != expected).sum()
    assert wrong.item() == 0


@every_way
def test_it_can_be_captured_in_a_graph(case):
    inputs, kernel, y = make_case(case), case.load(), poison(case, "cuda")
    operands = inputs.operands(case, kernel, "cuda")
    with case.as_planned():
        kernel(**operands)  # compiles
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(3):
                kernel(**operands, out=y)
    y.fill_(torch.nan)
    graph.replay()
    assert is_right(case, inputs, y)


@every_way
def test_it_runs_on_the_current_stream(case):
    inputs, kernel = make_case(case), case.load()
    operands = inputs.operands(case, kernel, "cuda")
    x, stream = torch.zeros_like(operands["x"]), torch.cuda.Stream()
    with case.as_planned():
        kernel(**operands)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            x.copy_(operands["x"])
            y = kernel(**operands | {"x": x})
    stream.synchronize()
    assert is_right(case, inputs, y)


@pytest.mark.parametrize("case", EVERY_WAY[:2], ids=str)
def test_your_table_is_what_runs(case):
    inputs, mine = make_case(case), case.load(replace=pair_table(range(-8, 8)))
    y = run(case, replace(inputs, zeros=inputs.zeros - 8), "cuda", kernel=mine)
    assert is_right(case, inputs, y)


@pytest.mark.parametrize("case", LAYERS, ids=str)
def test_it_takes_every_mode_factor_and_term(case):
    inputs = triton_cases.make_case(case)
    on_gpu = inputs.on("cuda")
    y = GEMM_MMA(on_gpu.x, on_gpu.weight, on_gpu.epilogue)
    assert triton_cases.is_right(case, inputs, y)


@pytest.mark.parametrize("M", [9, 40])
def test_a_layer_takes_it_by_name(M):
    problem = make(4, 128, N=1000, K=1024, bias=torch.float16)
    layer, x = problem.layer.cuda(), activations(M, 1024)
    y = layer.forward_manual(x.cuda(), "GEMM_MMA")
    problem.assert_right(y, x, kernel="GEMM_MMA")
