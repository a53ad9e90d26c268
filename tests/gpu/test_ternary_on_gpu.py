"""Ternary weights and int8 activations on the GPU: every case, every lane, and the layer."""

import copy
from dataclasses import replace

import pytest
import ternary_fast_cases
import torch
from ternary_cases import (
    BF16,
    FAST,
    FP16,
    GEMM,
    GEMV,
    INT32,
    NUMBER,
    VARIANTS,
    WIDE,
    Case,
    cases_for_a_gpu,
    compile_for_gpu,
    is_right,
    is_rounded_well,
    make_case,
    one_case_of_each_build,
    run,
    sums_of,
)

from gemlite_edu import (
    BitLinear,
    load,
    pack_bitnet_2bit,
    quantize_activations_int8,
    unpack_bitnet_2bit,
)
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.kernels.machine import HOPPER
from gemlite_edu.kernels.plan import Launch
from gemlite_edu.numbers.checks import pointers_of
from gemlite_edu.packing import FRAGMENTS
from gemlite_edu.runners import cuda, simulator

IS_HOPPER = torch.cuda.get_device_capability() == HOPPER
VARIANTS_HERE = [variant for variant in VARIANTS if IS_HOPPER or variant[0] != FAST]
WITH_CODES = [variant for variant in VARIANTS if variant[0] != FAST]  # with the hole four_codes
CASES = [case for case in dict.fromkeys(cases_for_a_gpu()) if case.variant in VARIANTS_HERE]
CASES_FOR_BOTH_RUNNERS = CASES[::11]
CASES_OF_CUTS = list(ternary_fast_cases.cases_for_a_gpu()) if IS_HOPPER else []
BITNET_SHAPES = [(2560, 2560), (3840, 2560), (13824, 2560), (2560, 6912), (3200, 8640)]
LONGEST_K = {GEMV: 2**23 - 32, GEMM: 2**23 - 32, FAST: 2**17 - 32}
FP32 = torch.float32
every_variant = pytest.mark.parametrize("variant", VARIANTS_HERE, ids=lambda v: v[1] or v[0])
every_kernel = pytest.mark.parametrize("name", dict.fromkeys(name for name, _ in VARIANTS_HERE))


def builds():
    """What builds.py compiles."""
    of_cuts = ternary_fast_cases.one_case_of_each_build(CASES_OF_CUTS)
    return [(compile_for_gpu, case) for case in one_case_of_each_build(CASES) + of_cuts]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_gives_the_right_answer(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs, "cuda"))


@pytest.mark.parametrize("case", CASES_FOR_BOTH_RUNNERS, ids=str)
def test_both_runners_agree_bit_for_bit(case):
    inputs = make_case(case, seed=1)
    y = run(case, inputs, "cuda")
    assert is_right(case, inputs, y)
    assert torch.equal(y.cpu(), run(case, inputs))


@pytest.mark.parametrize("case", CASES_OF_CUTS, ids=str)
def test_every_cut_gives_the_right_answer(case):
    inputs = make_case(case)
    assert is_right(case, inputs, run(case, inputs, "cuda"))


def random_problem(M, N, K, seed=0):
    """x, words and codes on the GPU, all codes and all of int8."""
    generator = torch.Generator("cuda").manual_seed(seed)
    at = dict(device="cuda", generator=generator)
    x = torch.randint(-128, 128, (M, K), dtype=torch.int8, **at)
    codes = torch.randint(0, 4, (N, K), dtype=torch.uint8, **at)
    return x, pack_bitnet_2bit(codes), codes


def exact_sums(x, codes):
    """In float64, where every order of these additions gives the same integer."""
    return x.double() @ (codes.double() - 2).T


@pytest.mark.parametrize("M", [1, 2, 3, 8, 16, 33, 64, 128, 500])
@pytest.mark.parametrize("N, K", BITNET_SHAPES)
def test_shapes_of_bitnet(N, K, M):
    x, W_packed, codes = random_problem(M, N, K, seed=M)
    expected = exact_sums(x, codes)
    for name, fragment in VARIANTS_HERE:
        y = load(name, fragment=fragment)(x, W_packed)
        assert torch.equal(y.double(), expected), (name, fragment)


@every_variant
def test_a_thousand_runs_give_the_same_bits(variant):
    x, W_packed, codes = random_problem(100, 1000, 2080)
    kernel = load(variant[0], fragment=variant[1])
    expected = exact_sums(x, codes).int()
    out = torch.empty_like(kernel(x, W_packed, N=1000))
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    for _ in range(1000):
        out.fill_(-(2**31))
        wrong += (kernel(x, W_packed, N=1000, out=out) != expected).sum()
    assert wrong.item() == 0


@every_kernel
def test_the_longest_sum_fits_into_int32(name):
    K = LONGEST_K[name]
    x = torch.full((1, K), -128, dtype=torch.int8, device="cuda")
    W_packed = torch.zeros(16, K // 16, dtype=torch.int32, device="cuda")
    assert load(name)(x, W_packed).tolist() == [[256 * K] * 16]


# Beyond 2**31 elements or bytes


@every_variant
def test_x_of_more_than_2_to_the_31_elements(variant):
    x, W_packed, codes = random_problem(33_000, 16, 66_000)
    y = load(variant[0], fragment=variant[1])(x, W_packed)
    for rows in (slice(0, 50), slice(-50, None)):
        assert torch.equal(y[rows].double(), exact_sums(x[rows], codes))


@every_variant
def test_y_of_more_than_2_to_the_31_elements(variant):
    x, W_packed, codes = random_problem(140_001, 16_400, 32)
    y = load(variant[0], fragment=variant[1])(x, W_packed, N=16_399)
    for rows in (slice(0, 50), slice(-50, None)):
        assert torch.equal(y[rows].double(), exact_sums(x[rows], codes[:16_399]))


@every_variant
def test_words_of_more_than_2_to_the_31_bytes(variant):
    N, K = 131_072, 65_600
    words = torch.randint(-(2**31), 2**31, (N, K // 16), dtype=torch.int32, device="cuda")
    x = torch.randint(-128, 128, (1, K), dtype=torch.int8, device="cuda")
    y = load(variant[0], fragment=variant[1])(x, words)
    for rows in (slice(0, 32), slice(N - 32, N)):
        codes = unpack_bitnet_2bit(words[rows].cpu(), 32, K)
        assert torch.equal(y[:, rows].cpu().long(), sums_of(x.cpu(), codes))


# Fragments

OWNERS = """
#include <mma.h>
namespace wmma = nvcuda::wmma;

template <typename Fragment>
__device__ void tell(int*& y, const Fragment& f) {
  for (int i = 0; i < f.num_elements; ++i) y[i * 32 + threadIdx.x] = f.x[i];
  y += 32 * f.num_elements;
}

__global__ void kernel(const signed char* A, const signed char* B, const int* C, int* y) {
  wmma::fragment<wmma::matrix_a, FRAGMENT_M, FRAGMENT_N, 16, signed char, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, FRAGMENT_M, FRAGMENT_N, 16, signed char, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, FRAGMENT_M, FRAGMENT_N, 16, int> c;
  wmma::load_matrix_sync(a, A, 16);
  wmma::load_matrix_sync(b, B, 16);
  wmma::load_matrix_sync(c, C, FRAGMENT_N, wmma::mem_row_major);
  tell(y, a);
  tell(y, b);
  tell(y, c);
}
"""


def numbered(rows, columns, axis, dtype):
    """A matrix whose elements are their row, axis 0, or their column, axis 1."""
    numbers = torch.arange(rows)[:, None] if axis == 0 else torch.arange(columns)[None]
    return numbers.expand(rows, columns).to(dtype).contiguous()


def owned(M, N, axis, device):
    """What each lane has of A, B and C, element after element: its row, or its column."""
    matrices = {
        "A": numbered(M, 16, axis, torch.int8),
        "B": numbered(N, 16, axis, torch.int8),  # its columns, one after the other
        "C": numbered(M, N, axis, INT32),
    }
    y = torch.full((sum(matrix.numel() for matrix in matrices.values()),), -1, dtype=INT32)
    defines = {"FRAGMENT_M": M, "FRAGMENT_N": N}
    if device == "cpu":
        arguments = [simulator.Tensor(name, matrix) for name, matrix in matrices.items()]
        arguments.append(simulator.Tensor("y", y, is_output=True))
        library = simulator.build_kernel(OWNERS, "kernel", defines)
        simulator.run_kernel(library, arguments, simulator.Launch((1, 1), 32), 10.0)
        return y
    tensors, y = [matrix.cuda() for matrix in matrices.values()], y.cuda()
    capability = torch.cuda.get_device_capability()
    library = cuda.build_kernel(OWNERS, "kernel", defines, capability)
    cuda.ReadyLaunch(library, Launch((1, 1), 32, 0, ()), y.device)(pointers_of((*tensors, y)))
    return y.cpu()


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_lanes_own_what_the_simulator_says(fragment):
    M, N = FRAGMENTS[fragment]
    rows, columns = (owned(M, N, axis, "cuda") for axis in (0, 1))
    sizes = [M * 16, N * 16, M * N]
    for row, column, size in zip(rows.split(sizes), columns.split(sizes), sizes, strict=True):
        assert len({*zip(row.tolist(), column.tolist(), strict=True)}) == size
    assert torch.equal(rows, owned(M, N, 0, "cpu"))
    assert torch.equal(columns, owned(M, N, 1, "cpu"))


# Calls


def example(variant, **changes):
    return Case(variant, **dict(M=5, N=33, K=544) | changes)


@every_variant
@pytest.mark.parametrize("y_dtype", [INT32, FP16, BF16], ids=str)
def test_it_can_be_captured_in_a_graph(variant, y_dtype):
    case = example(variant, y_dtype=y_dtype)
    inputs = make_case(case)
    kernel, operands = case.load(), inputs.operands(case, "cuda")
    y = kernel(**operands)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(**operands, out=y)
    for seed in (1, 2):
        fresh = make_case(case, seed)
        operands["x"].copy_(fresh.x)
        expected = replace(fresh, scales=inputs.scales, token_scales=inputs.token_scales,
                           sums=sums_of(fresh.x, codes_of(inputs, case)))  # fmt: skip
        y.fill_(-1)
        graph.replay()
        assert is_right(case, expected, y)


def codes_of(inputs, case):
    return unpack_bitnet_2bit(inputs.W_packed, case.N, case.K)


@every_variant
def test_numbers_as_scales_can_be_captured(variant):
    case = example(variant, y_dtype=FP16, form=NUMBER)
    inputs = make_case(case)
    kernel, operands = case.load(), inputs.operands(case, "cuda")
    kernel(**operands)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = kernel(**operands)
    y.fill_(torch.nan)
    graph.replay()
    assert is_right(case, inputs, y)


@every_variant
def test_it_runs_on_the_current_stream(variant):
    case = example(variant)
    inputs = make_case(case)
    kernel, operands = case.load(), inputs.operands(case, "cuda")
    kernel(**operands)  # compiles
    late_x, stream = torch.zeros_like(operands["x"]), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late_x.copy_(operands["x"])
        y = kernel(**operands | {"x": late_x})
    stream.synchronize()
    assert is_right(case, inputs, y)


@pytest.mark.parametrize("number", range(torch.cuda.device_count()))
@every_variant
def test_it_runs_where_its_tensors_are(variant, number):
    case, device = example(variant, y_dtype=FP16, form=NUMBER), torch.device("cuda", number)
    inputs = make_case(case)
    y = run(case, inputs, device)
    assert y.device == device and torch.cuda.current_device() == 0
    assert is_right(case, inputs, y)


@every_variant
def test_no_rows_give_no_rows(variant):
    case = example(variant, M=0)
    y = run(case, make_case(case), "cuda")
    assert y.is_cuda and y.shape == (0, 33)


@every_kernel
def test_tensors_on_two_devices_are_refused(name):
    x, W_packed, _ = random_problem(2, 16, 32)
    kernel = load(name, y_dtype=FP16)
    with pytest.raises(ValueError, match="x is on cpu and W on cuda:0"):
        kernel(x.cpu(), W_packed)
    with pytest.raises(ValueError, match="token_scales is on cpu and x on cuda:0"):
        kernel(x, W_packed, token_scales=torch.ones(2))
    with pytest.raises(ValueError, match="loaded for 'cpu'"):
        load(name, device="cpu")(x, W_packed)
    with pytest.raises(ValueError, match="loaded for 'cuda'"):
        load(name, device="cuda")(x.cpu(), W_packed.cpu())
    with pytest.raises(ValueError, match="the simulator inspects on the CPU"):
        kernel.inspect(x, W_packed)
    with pytest.raises(ValueError, match="out must be .* on cuda:0, got .* on cpu"):
        kernel(x, W_packed, out=torch.empty(2, 16, dtype=FP16))


OTHER_CODES = """
__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int e = 0; e < 4; ++e) codes |= (word >> (8 * e + 2 * i) & 3u) << 8 * e;
  return codes;
}"""


@pytest.mark.parametrize("variant", WITH_CODES, ids=str)
def test_your_codes_are_what_runs(variant):
    case = example(variant)
    inputs = make_case(case)
    mine = case.load(replace={"four_codes": OTHER_CODES})
    assert is_right(case, inputs, run(case, inputs, "cuda", kernel=mine))
    wrong = case.load(replace={"four_codes": OTHER_CODES.replace("2 * i", "2 * e")})
    assert not is_right(case, inputs, run(case, inputs, "cuda", kernel=wrong))


@pytest.mark.parametrize("name", [GEMV, GEMM])
def test_a_compile_error_of_nvcc_shows_the_learners_line(name):
    broken = OTHER_CODES.replace("return codes", "return code")
    with pytest.raises(KernelTextError, match=r'four_codes, line 4: .*"code" is undefined'):
        load(name, replace={"four_codes": broken}, device="cuda")


@every_kernel
def test_wide_scales_and_a_default_type_of_torch(name):
    case = example((name, None), y_dtype=FP16, scales=WIDE, form=NUMBER)
    inputs = make_case(case)
    torch.set_default_dtype(BF16)
    try:
        y = run(case, inputs, "cuda")
    finally:
        torch.set_default_dtype(FP32)
    assert is_right(case, inputs, y)


# The layer

MS = [1, 4, 5, 8, 9, 64, 100]


def make_layer(bias=False, N=70, K=192):
    torch.manual_seed(0)
    layer = BitLinear.from_linear(torch.nn.Linear(K, N, bias=bias))
    layer.scales *= 0.5 + torch.rand(N, 1, generator=torch.Generator().manual_seed(1))
    return layer


def activations(*shape, dtype=FP16, seed=4):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def whole_numbers(M, K=192, dtype=FP16):
    """Up to 127 in each token: its codes are these numbers, however 127 / 127 is rounded."""
    x = torch.randint(-127, 128, (M, K), generator=torch.Generator().manual_seed(5))
    x[:, 0] = 127
    return x.to(dtype)


def assert_near(y, expected):
    torch.testing.assert_close(y.cpu(), expected, rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("M", MS)
@pytest.mark.parametrize("dtype", [FP16, BF16, FP32], ids=str)
def test_the_layer_is_two_steps_in_integers(dtype, M):
    layer, x = make_layer().cuda(), activations(M, 192, dtype=dtype).cuda()
    y = layer(x)
    x_q, token_scales = (t.cpu() for t in quantize_activations_int8(x))
    sums = sums_of(x_q, unpack_bitnet_2bit(layer.W_packed.cpu(), 70, 192))
    exact = sums.double() * token_scales.double() * layer.scales.cpu().double().T
    assert y.is_cuda and y.dtype == dtype and is_rounded_well(y.cpu(), exact)


@pytest.mark.parametrize("M", MS)
@pytest.mark.parametrize("dtype", [FP16, BF16, FP32], ids=str)
def test_the_layer_gives_the_same_bits_on_both(dtype, M):
    layer = make_layer()
    layer.scales = 2.0 ** torch.randint(-6, 0, (70, 1))
    x = whole_numbers(M, dtype=dtype)
    expected = layer(x)
    y = layer.cuda()(x.cuda())
    assert torch.equal(y.cpu(), expected)
    assert torch.equal(layer.cpu()(x), expected)


def test_torch_compile_takes_it_whole():
    model = torch.nn.Sequential(make_layer(bias=True), torch.nn.ReLU())
    expected = {M: model(whole_numbers(M)) for M in (3, 6, 20)}
    compiled = torch.compile(model.cuda(), fullgraph=True)
    for M in expected:
        assert_near(compiled(whole_numbers(M).cuda()), expected[M])


@pytest.mark.parametrize("M", [1, 20])
def test_torch_compile_with_cuda_graphs(M):
    layer, x = make_layer(bias=True), whole_numbers(M)
    expected = layer(x)
    compiled = torch.compile(layer.cuda(), fullgraph=True, mode="reduce-overhead")
    for _ in range(3):
        y = compiled(x.cuda()).clone()
    assert_near(y, expected)


@pytest.mark.parametrize("M", [2, 7, 30])
def test_the_layer_can_be_captured_in_a_graph(M):
    layer, x = make_layer(bias=True).cuda(), activations(M, 192).cuda()
    layer(x)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = layer(x)
    for seed in (6, 7):
        x.copy_(activations(M, 192, seed=seed))
        y.fill_(torch.nan)
        graph.replay()
        assert torch.equal(y, layer(x))


def test_the_layer_runs_on_the_current_stream():
    layer, x = make_layer().cuda(), activations(20, 192).cuda()
    expected = layer(x)
    late_x, stream = torch.zeros_like(x), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late_x.copy_(x)
        y = layer(late_x)
    stream.synchronize()
    assert torch.equal(y, expected)


@pytest.mark.parametrize("M", [3, 6, 20])
def test_the_op_is_registered_as_torch_asks(M):
    layer = make_layer().cuda()
    x_q, token_scales = quantize_activations_int8(activations(M, 192).cuda())
    operands = (x_q, layer.W_packed, layer.scales, token_scales, 70)
    for dtype in (FP16, FP32):
        torch.library.opcheck(torch.ops.gemlite_edu.a8w2, (*operands, dtype))


def test_a_state_goes_from_one_device_to_the_other():
    layer, x = make_layer(bias=True).cuda(), activations(3, 192).cuda()
    on_cpu = BitLinear(192, 70, bias=True)
    on_cpu.load_state_dict(layer.state_dict())
    on_gpu = BitLinear(192, 70, bias=True, device="cuda")
    on_gpu.load_state_dict(on_cpu.state_dict())
    assert all(buffer.is_cuda for buffer in on_gpu.buffers())
    assert torch.equal(on_gpu(x), layer(x))
    assert torch.equal(copy.deepcopy(on_cpu).cuda()(x), layer(x))


def test_half_of_a_model_keeps_the_scales_exact():
    layer, x = make_layer().cuda(), activations(3, 192).cuda()
    expected, before = layer(x), layer.scales.clone()
    assert torch.equal(layer.half().scales, before) and layer.scales.is_cuda
    assert torch.equal(layer(x), expected)
    assert torch.equal(layer.to("cpu", BF16).scales, before.cpu())


def test_a_layer_is_made_where_its_weight_is():
    torch.manual_seed(0)
    linear = torch.nn.Linear(192, 70)
    x, on_cpu = activations(3, 192), BitLinear.from_linear(linear)
    layer = BitLinear.from_linear(linear.cuda())
    assert all(buffer.is_cuda for buffer in layer.buffers())
    assert torch.equal(layer.W_packed.cpu(), on_cpu.W_packed)
    assert_near(layer(x.cuda()), on_cpu(x))
    ws = torch.tensor([0.5])  # on the CPU, where a checkpoint may have it
    there = BitLinear.from_packed(layer.W_packed, ws, 192, 70)
    assert there.scales.is_cuda and there(x.cuda()).is_cuda


def test_x_and_the_layer_on_two_devices_are_refused():
    with pytest.raises(ValueError, match="x is on cpu and the layer on cuda:0: move one"):
        make_layer().cuda()(activations(3, 192))
    with pytest.raises(ValueError, match="x requires grad and this kernel has no backward"):
        make_layer().cuda()(activations(3, 192).cuda().requires_grad_())
