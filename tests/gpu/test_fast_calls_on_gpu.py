"""Calls of the kernels at the memory limit on the GPU: graphs, streams, devices, texts, layers."""

from dataclasses import replace

import batch_cases
import fast_cases
import pytest
import torch
import triton_cases
from batch_cases import BATCH
from fast_cases import BF16, FAST, FP16, MANY_BLOCKS, RANDOM, Case, is_right, make_case, poison, run
from sparse_fast_cases import SparseCase

from gemlite_edu import load
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.pair_table import pair_table
from gemlite_edu.operators.cuda_product import GEMM_FAST, GEMV_FAST

GEMVS = [
    kind(nbits, 2, 100, 4096, x_dtype=x_dtype, machine=MANY_BLOCKS)
    for kind, widths in ((Case, (8, 7, 4, 3, 2, 1)), (SparseCase, (7,)))
    for nbits in widths
    for x_dtype in (FP16, BF16)
]
PRODUCTS = [batch_cases.Case(4, 9, 4096, 4096, rows=rows, splits=2) for rows in (16, 64)]
HOPPER = pytest.mark.hopper
ON_HOPPER = [pytest.param(case, marks=HOPPER) for case in PRODUCTS]
ALL = GEMVS + ON_HOPPER
OF_4_BITS = [case for case in GEMVS if case.nbits == 4] + ON_HOPPER
products = pytest.mark.parametrize("case", PRODUCTS, ids=str)
all_kernels = pytest.mark.parametrize("case", ALL, ids=str)


@all_kernels
def test_it_can_be_captured_in_a_graph(case):
    case = replace(case, data=RANDOM)
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


@all_kernels
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


@HOPPER
@products
def test_weights_that_were_just_written_are_read_as_written(case):
    inputs, kernel = make_case(case), case.load()
    operands = inputs.operands(case, kernel, "cuda")
    words = torch.zeros_like(operands["W"])
    with case.as_planned():
        kernel(**operands | {"W": words})
        torch.cuda._sleep(20_000_000)
        words.copy_(operands["W"])
        y = kernel(**operands | {"W": words})
    assert is_right(case, inputs, y)


@HOPPER
@products
def test_a_chain_of_layers_waits_for_each_other(case):
    """x of each call is y of the call before it, whose kernel has hardly begun."""
    case = replace(case, data=RANDOM)
    operands, kernel = make_case(case).operands(case, case.load(), "cuda"), case.load()
    x = operands.pop("x")
    chained, apart = x, x
    with case.as_planned():
        for _ in range(20):
            chained = kernel(chained, **operands) / 32
        for _ in range(20):
            apart = kernel(apart, **operands) / 32
            torch.cuda.synchronize()
    assert chained.isfinite().all() and chained.any() and torch.equal(chained, apart)


@all_kernels
def test_packing_gives_the_same_bits_on_both(case):
    inputs, kernel = make_case(case), case.load()
    on_cpu, on_gpu = (inputs.operands(case, kernel, device) for device in ("cpu", "cuda"))
    assert all(torch.equal(on_cpu[name], on_gpu[name].cpu()) for name in on_cpu)


def test_operands_on_two_devices_are_refused():
    case = Case(4, 2, 16, 128)
    kernel = case.load()
    operands = make_case(case).operands(case, kernel, "cuda")
    for name, told in {
        "x": "x is on cpu and W on cuda:0",
        "W": "x is on cuda:0 and W on cpu",
        "zeros": "zeros is on cpu and x on cuda:0",
    }.items():
        with pytest.raises(ValueError, match=told):
            kernel(**operands | {name: operands[name].cpu()})
    with pytest.raises(ValueError, match="the simulator inspects on the CPU"):
        kernel.inspect(**operands)
    with pytest.raises(ValueError, match="loaded for 'cpu'"):
        case.load(device="cpu")(**operands)


# Texts of one's own


@pytest.mark.parametrize("case", OF_4_BITS, ids=str)
@pytest.mark.parametrize("middle", [8, 4])
def test_your_table_is_what_runs(case, middle):
    inputs = make_case(case)
    inputs = replace(inputs, W_q=inputs.W_q % (2 * middle))
    mine = case.load(replace=pair_table(range(-middle, middle)))
    y = run(case, replace(inputs, zeros=inputs.zeros - middle), "cuda", kernel=mine)
    assert is_right(case, inputs, y)


@pytest.mark.parametrize("case", [case for case in GEMVS if type(case) is Case], ids=str)
def test_every_width_has_a_table(case):
    levels = torch.arange(2**case.nbits).flip(0) - 2.0 ** (case.nbits - 1)
    inputs = make_case(case)
    product = replace(inputs, zeros=0 * inputs.zeros).product(case)
    y = run(
        case, replace(inputs, zeros=0 * inputs.zeros), "cuda", case.load(replace=pair_table(levels))
    )
    expected = replace(product, codes=levels[product.codes.long()]).exact()
    assert torch.equal(y.cpu(), expected.to(case.x_dtype))


@pytest.mark.parametrize("case", OF_4_BITS, ids=str)
def test_a_call_brings_levels_of_its_own(case):
    """The same build, with levels that are on the GPU already, also in a captured graph."""
    inputs = make_case(case)
    kernel = case.load(replace=pair_table(range(16)))
    mine = case.load(replace=pair_table(range(-8, 8)))
    operands = inputs.operands(case, kernel, "cuda")
    levels, y = torch.arange(16.0, device="cuda"), poison(case, "cuda")
    with case.as_planned():
        expected, by_codes = mine(**operands), kernel(**operands)
        assert torch.equal(kernel(**operands, levels=levels), by_codes)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kernel(**operands, levels=levels, out=y)
    levels -= 8
    graph.replay()
    assert torch.equal(y, expected)


DOUBLED = """
constexpr float UNIT = 0.5f;
__device__ Pairs dequant_pairs(uint32_t word, uint32_t next, int byte, half2 zero) {
  const float codes[] = {1.0f * (word >> 8 * byte & 0x7F), 1.0f * (next >> 8 * byte & 0x7F)};
  const half2 half_zero = zero * __float2half2_rn(0.5f);
  const uint32_t kept = as_bits(__floats2half2_rn(codes[0], codes[1]) - half_zero);
  const uint32_t is_first = permute(word, next, 0xCC88 + 0x1111 * byte);
  return {as_half2(kept & is_first), as_half2(kept & ~is_first)};
}"""


def test_your_numbers_of_sparse_weights_are_what_runs():
    case = SparseCase(M=2, N=100, least_K=4096)
    inputs = make_case(case)
    mine = case.load(replace={"dequant_pairs": DOUBLED})
    product = inputs.product(case)
    doubled = replace(product, codes=2 * product.codes)
    y = run(case, inputs, "cuda", kernel=mine)
    assert torch.equal(y.cpu(), doubled.exact().half())


@pytest.mark.parametrize("name", [FAST, pytest.param(BATCH, marks=HOPPER)])
def test_a_compile_error_of_nvcc_shows_the_learners_line(name):
    texts = pair_table(range(16))
    broken = texts["prepare_pairs"].replace("&levels[i]", "&level[i]")
    line = broken.strip().partition("&level[")[0].count("\n") + 1
    told = f'prepare_pairs, line {line}: .*"level" is undefined'
    with pytest.raises(KernelTextError, match=told):
        load(name, 4, group_size=128, replace=texts | {"prepare_pairs": broken}, device="cuda")


# Weights of a layer


@pytest.mark.parametrize("case", fast_cases.cases_of_a_layer(count=40), ids=str)
def test_a_gemv_takes_every_mode_factor_and_term(case):
    inputs = triton_cases.make_case(case)
    on_gpu = inputs.on("cuda")
    y = GEMV_FAST(on_gpu.x, on_gpu.weight, on_gpu.epilogue)
    assert triton_cases.is_right(case, inputs, y)


@HOPPER
@pytest.mark.parametrize("case", batch_cases.cases_of_a_layer(count=40), ids=str)
def test_a_product_takes_every_mode_factor_and_term(case):
    inputs = triton_cases.make_case(case)
    on_gpu = inputs.on("cuda")
    y = GEMM_FAST(on_gpu.x, on_gpu.weight, on_gpu.epilogue)
    assert triton_cases.is_right(case, inputs, y)
