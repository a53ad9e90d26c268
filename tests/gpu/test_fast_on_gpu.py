"""The kernels at the memory limit on the GPU: every case, against fp64 and the simulator."""

import batch_cases
import fast_cases
import pytest
import sparse_fast_cases
import torch
from batch_cases import BATCH
from fast_cases import (
    BF16,
    FAST,
    FP16,
    LARGEST_ERROR,
    MANY_BLOCKS,
    RANDOM,
    Case,
    compile_for_gpu,
    is_right,
    make_case,
    one_case_of_each_build,
    run,
)
from sparse_fast_cases import SPARSE, SparseCase

from gemlite_edu import load
from gemlite_edu.kernels.fast_weights import FastWeights
from gemlite_edu.kernels.gemm_fast import FAST_GEMM
from gemlite_edu.kernels.gemv_fast import FAST_KERNELS
from gemlite_edu.kernels.machine import HOPPER
from gemlite_edu.packing import tiled_sparsity_50, unpack_sparse_1in2
from gemlite_edu.packing.plane_tiles import unpack_plane_tiles

IS_HOPPER = torch.cuda.get_device_capability() == HOPPER
GEMV_CASES = [*fast_cases.cases_for_a_gpu(), *sparse_fast_cases.cases_for_a_gpu()]
BATCH_CASES = list(batch_cases.cases_for_a_gpu()) if IS_HOPPER else []
# The simulator has no clusters.
ONE_BLOCK_CASES = [
    case for case in BATCH_CASES if case.cut(largest_cluster=4).splits == 1 or case.cut().is_even
]


def small_and_exact(cases, most_products):
    return [c for c in cases if c.data != RANDOM and c.M * c.N * c.K <= most_products]


CASES = list(dict.fromkeys(GEMV_CASES + BATCH_CASES))
CASES_FOR_BOTH_RUNNERS = list(dict.fromkeys(GEMV_CASES))
CASES_FOR_BOTH_RUNNERS = small_and_exact(CASES_FOR_BOTH_RUNNERS, 2**19)[::5]
CASES_FOR_BOTH_RUNNERS += small_and_exact(dict.fromkeys(ONE_BLOCK_CASES), 2**22)

WIDTHS = range(8, 0, -1)
GEMVS = [(FAST, nbits, x_dtype) for nbits in WIDTHS for x_dtype in (FP16, BF16)]
GEMVS += [(SPARSE, None, x_dtype) for x_dtype in (FP16, BF16)]
PRODUCTS = [(BATCH, nbits, FP16) for nbits in WIDTHS] if IS_HOPPER else []
SHAPES = [(4096, 4096), (4096, 14336), (14336, 4096), (8192, 8192), (5120, 13824), (1536, 384)]
SHAPES += [(11008, 4096), (3072, 8192)]
MODELS = [
    (*kernel, N, K)
    for kernel in GEMVS + PRODUCTS
    for N, K in SHAPES
    if kernel not in PRODUCTS or K % FastWeights(kernel[1]).step == 0
]
FEW_ROWS, MANY_ROWS = (1, 2, 4, 8, 24), (3, 7, 16, 24, 48, 64, 100, 256, 300, 1024)
MANY_RUNS = [(*kernel, 5000, 4) for kernel in GEMVS]
MANY_RUNS += [(*kernel, 4096, M) for kernel in PRODUCTS for M in (16, 100)]
MANY_RUNS += [(*kernel, 11008, 1024) for kernel in PRODUCTS]  # blocks leave each other sums


def usual(name, nbits, x_dtype, M):
    """A case with the builds of `SHAPES`."""
    kind = dict(M=M, N=4096, least_K=4096, x_dtype=x_dtype, machine=MANY_BLOCKS)
    return SparseCase(group_size=128, **kind) if name == SPARSE else Case(nbits, **kind)


USUAL = [usual(*kernel, M) for kernel in GEMVS for M in FEW_ROWS]


def builds():
    """What builds.py compiles: for every case, and for the shapes of models."""
    products = [
        (N, K, M, nbits) for name, nbits, _, N, K in MODELS if name == BATCH for M in MANY_ROWS
    ]
    return [
        *((compile_for_gpu, case) for case in one_case_of_each_build([*CASES, *USUAL])),
        *((batch_cases.compile_shape, s) for s in batch_cases.one_shape_of_each_build(products)),
    ]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs, "cuda"))


@pytest.mark.parametrize("case", CASES_FOR_BOTH_RUNNERS, ids=str)
def test_both_runners_agree_bit_for_bit(case):
    inputs = make_case(case, seed=1)
    assert torch.equal(run(case, inputs, "cuda").cpu(), run(case, inputs))


def random_weights(kernel, N, K, group_size=128, seed=0):
    """(what a call takes beside x, W in float64) on the GPU."""
    at = dict(device="cuda", generator=torch.Generator("cuda").manual_seed(seed))
    nbits, groups = kernel.nbits or 7, (N, K // group_size)
    W_q = torch.randint(0, 2**nbits, (N, K), dtype=torch.uint8, **at)
    scales = ((0.5 + torch.rand(groups, **at)) / 2**nbits).half().float()
    zeros = torch.randint(0, 2**nbits, groups, **at).float()
    zero, scale = (t.double().repeat_interleave(group_size, dim=1) for t in (zeros, scales))
    W = (W_q.double() - zero) * scale
    if kernel.name != SPARSE:
        return kernel.pack(W_q, scales, zeros), W
    kept = tiled_sparsity_50(torch.rand(N, K, **at)).bool()
    return kernel.pack(W_q, kept, scales, zeros), torch.where(kept, W, 0.0)


def random_x(M, K, x_dtype):
    generator = torch.Generator("cuda").manual_seed(M)
    return torch.randn(M, K, device="cuda", generator=generator).to(x_dtype)


def relative_error(y, x, W):
    exact = x.double() @ W.T
    return ((y.double() - exact).norm() / exact.norm()).item()


@pytest.mark.parametrize("name, nbits, x_dtype, N, K", MODELS, ids=str)
def test_shapes_of_models(name, nbits, x_dtype, N, K):
    kernel = load(name, nbits, x_dtype, group_size=128)
    packed, W = random_weights(kernel, N, K)
    for M in MANY_ROWS if name == BATCH else FEW_ROWS:
        x = random_x(M, K, x_dtype)
        assert relative_error(kernel(x, *packed), x, W) < LARGEST_ERROR[x_dtype], M


@pytest.mark.parametrize("name, nbits, x_dtype", GEMVS, ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_tensor_core_that_truncates_keeps_the_error(name, nbits, x_dtype, sign):
    """Truncation is always towards zero: with x of one sign, nothing makes up for it."""
    kernel = load(name, nbits, x_dtype, group_size=128)
    packed, W = random_weights(kernel, 4096, 16384)
    x = sign * random_x(1, 16384, x_dtype).abs()
    assert relative_error(kernel(x, *packed), x, W) < LARGEST_ERROR[x_dtype]


@pytest.mark.parametrize("name, nbits, x_dtype, N, M", MANY_RUNS, ids=str)
def test_many_runs_give_the_same_bits(name, nbits, x_dtype, N, M):
    """One after the other on a stream: a product begins while the one before it ends."""
    kernel = load(name, nbits, x_dtype, group_size=128)
    packed, _ = random_weights(kernel, N, 4096)
    x = random_x(M, 4096, x_dtype)
    expected = kernel(x, *packed)
    out, wrong = torch.empty_like(expected), torch.zeros((), dtype=torch.int64, device="cuda")
    for _ in range(500):
        out.fill_(torch.nan)
        wrong += (kernel(x, *packed, out=out) != expected).sum()
    assert wrong.item() == 0


# Beyond 2**31 bytes


def test_words_of_more_than_2_to_the_31_bytes():
    N, K = 262_144, 16_512
    kernel = load(FAST, 4, group_size=128)
    layout = kernel.layout(K)
    words = torch.randint(-(2**31), 2**31, layout.shape(N), dtype=torch.int32, device="cuda")
    scales = torch.full((layout.padded_groups, N), 2.0**-4, dtype=FP16, device="cuda")
    x = torch.randint(-1, 2, (1, K), device="cuda").half()
    y = kernel(x, words, scales, scales)
    for rows in (slice(0, 32), slice(-32, None)):
        codes = unpack_plane_tiles(words[:, rows].cpu(), layout)
        exact = x.cpu().double() @ ((codes.double() - 2.0**-4) * 2.0**-4).T
        torch.testing.assert_close(y[:, rows].cpu().double(), exact, rtol=2**-10, atol=2**-8)


def test_sparse_words_of_more_than_2_to_the_31_bytes():
    N, K = 262_144, 16_640
    kernel = load(SPARSE)
    words = torch.randint(-(2**31), 2**31, (N, K // 8), dtype=torch.int32, device="cuda")
    factors = torch.full((1, N), 2.0**-4, dtype=FP16, device="cuda")
    x = torch.randint(-1, 2, (1, K), device="cuda").half()
    y = kernel(x, words, factors, factors)
    for rows in (slice(0, 32), slice(-32, None)):
        codes, kept = unpack_sparse_1in2(words[rows].cpu(), K)
        W = torch.where(kept, (codes.double() - 2.0**-4) * 2.0**-4, 0.0)
        exact = x.cpu().double() @ W.T
        torch.testing.assert_close(y[:, rows].cpu().double(), exact, rtol=2**-10, atol=2**-6)


@pytest.mark.parametrize("name", [FAST] + [BATCH] * IS_HOPPER)
def test_y_of_more_than_2_to_the_31_elements(name):
    M, N, K = 140_000, 16_400, 128
    kernel = load(name, 4, group_size=128)
    packed, W = random_weights(kernel, N, K)
    x = random_x(M, K, FP16)
    y = kernel(x, *packed)
    for rows in (slice(0, 50), slice(-50, None)):
        assert relative_error(y[rows], x[rows], W) < LARGEST_ERROR[FP16]


def test_all_fast_kernels_are_covered():
    assert [*FAST_KERNELS, *FAST_GEMM] == [FAST, SPARSE, BATCH]
