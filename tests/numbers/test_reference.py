import math
from dataclasses import replace

import pytest
import torch

from gemlite_edu.numbers.bounds import (
    dequantized_error_bound,
    error_bound,
    factored_error_bound,
    half2_error_bound,
    parts_error_bound,
    scaled_weights_error_bound,
    tensor_core_error_bound,
)
from gemlite_edu.numbers.quantize import QuantizedWeight
from gemlite_edu.numbers.reference import ScaledProduct, matmul

OUT_DTYPES = [torch.float16, torch.bfloat16, torch.float32]
any_out_dtype = pytest.mark.parametrize("out_dtype", OUT_DTYPES)

LANES = 32


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def random_data(M, N, K, x_dtype=torch.float16):
    x = torch.randn(M, K, generator=seeded(0)).to(x_dtype)
    return x, torch.randn(N, K, generator=seeded(1)).to(x_dtype)


def random_halves():
    return random_data(2, 8, 4096)


def ragged_and_short():
    return random_data(3, 5, 7, torch.bfloat16)


def one_term():
    return random_data(3, 50, 1)


def drifting_up():
    """Equal terms whose additions, one after the other, all round to the same side."""
    return torch.full((1, 4096), 0.1).half(), torch.linspace(0.1, 3.0, 16)[:, None].expand(16, 4096)


def cancelling():
    """Large terms that cancel and leave the sum of the small ones."""
    x = torch.ones(2, 1024)
    x[:, 512:] = -1
    W = torch.randn(8, 512, generator=seeded(2)) * 2.0**14
    W = torch.cat([W, W.flip(1)], dim=1)
    W[:, ::64] += 0.01 * torch.rand(8, 16, generator=seeded(3))
    return x.half(), W


def wide_magnitudes():
    x, W = random_data(2, 8, 1024)
    powers = torch.randint(-20, 9, (8, 1024), generator=seeded(4))
    return x, W.float() * 2.0**powers


def tiny_outputs():
    """Sums under the smallest normal fp16 number, where its steps no longer shrink."""
    x, W = random_data(2, 64, 16)
    return x, W.double() * 2.0**-22


def zeros():
    return torch.zeros(1, 64).half(), torch.randn(4, 64, generator=seeded(5))


DATA = [
    random_halves,
    ragged_and_short,
    one_term,
    drifting_up,
    cancelling,
    wide_magnitudes,
    tiny_outputs,
    zeros,
]


def sequential(terms):
    total = torch.zeros_like(terms[..., 0])
    for term in terms.unbind(-1):
        total = total + term
    return total


def backward(terms):
    return sequential(terms.flip(-1))


def shuffled(terms):
    return sequential(terms[..., torch.randperm(terms.shape[-1], generator=seeded(6))])


def largest_first(terms):
    return sequential(terms.sort(dim=-1, descending=True).values)


def tree(terms):
    while (n := terms.shape[-1]) > 1:
        odd_one = terms[..., n - n % 2 :]
        terms = torch.cat([terms[..., 0 : n - 1 : 2] + terms[..., 1::2], odd_one], dim=-1)
    return terms[..., 0]


def strided_by_lane(terms):
    padding = -terms.shape[-1] % LANES
    by_lane = torch.nn.functional.pad(terms, (0, padding)).unflatten(-1, (-1, LANES))
    return tree(sequential(by_lane.transpose(-1, -2)))


ORDERS = [sequential, backward, shuffled, largest_first, tree, strided_by_lane]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("data", DATA)
def test_fp32_sum_in_any_order_stays_within_the_bound(data, order):
    x, W = data()
    W = W.float()
    y = order(x.float()[:, None, :] * W[None, :, :])
    for out_dtype in OUT_DTYPES:
        error = (y.to(out_dtype).double() - matmul(x, W)).abs()
        assert (error <= error_bound(x, W, out_dtype)).all()


@pytest.mark.parametrize("order", ORDERS)
@any_out_dtype
def test_fused_dequantization_stays_within_the_bound(order, out_dtype):
    x = torch.randn(2, 1024, generator=seeded(0)).half()
    codes = torch.randint(0, 256, (4, 1024), generator=seeded(1))
    zeros = 255 * torch.rand(4, 1, generator=seeded(2))
    scales = 0.001 + torch.rand(4, 1, generator=seeded(3)) / 100
    y = order(x.float()[:, None, :] * (codes - zeros)) * scales.T
    W = (codes - zeros.double()) * scales.double()
    error = (y.to(out_dtype).double() - matmul(x, W)).abs()
    assert (error <= error_bound(x, W, out_dtype)).all()


@any_out_dtype
def test_bound_is_one_positive_number_per_output(out_dtype):
    x, W = random_data(3, 5, 64)
    bound = error_bound(x, W, out_dtype)
    assert (bound.shape, bound.dtype) == ((3, 5), torch.float64)
    assert (bound > 0).all()
    assert bound.isfinite().all()


@any_out_dtype
def test_bound_is_under_one_percent_of_the_terms(out_dtype):
    x, W = random_data(4, 64, 4096)
    terms = matmul(x.abs(), W.abs())
    assert (error_bound(x, W, out_dtype) < 0.01 * terms).all()


@pytest.mark.parametrize("K, rank_of_dropped", [(256, 0.5), (4096, 1.0)])
@any_out_dtype
def test_dropped_term_exceeds_the_bound(out_dtype, K, rank_of_dropped):
    x, W = random_data(4, 64, K)
    terms = x.double()[:, None, :] * W.double()[None, :, :]
    by_size = terms.abs().sort(dim=-1).indices
    dropped = terms.gather(-1, by_size[..., int(rank_of_dropped * (K - 1)), None])[..., 0]
    y = (terms.sum(-1) - dropped).to(out_dtype)
    error = (y.double() - matmul(x, W)).abs()
    assert (error > error_bound(x, W, out_dtype)).all()


def test_half_precision_accumulation_exceeds_the_bound():
    x, W = drifting_up()
    y = sequential(x[:, None, :] * W.half()[None, :, :])
    assert ((y.double() - matmul(x, W)).abs() > error_bound(x, W, torch.float16)).all()


def test_matmul_multiplies_rows_by_rows():
    x = torch.tensor([[1, 2, 3]])
    W = torch.tensor([[1, 0, 0], [0, 10, 100]])
    y = matmul(x, W)
    assert y.tolist() == [[1.0, 320.0]]
    assert y.dtype == torch.float64


def test_matmul_keeps_what_narrower_sums_lose():
    x = torch.tensor([[60000.0, 60000.0, 1.0, -60000.0, -60000.0]]).half()
    W = torch.tensor([[60000.0, 60000.0, 2.0**-20, 60000.0, 60000.0]]).half()
    assert matmul(x, W).tolist() == [[2.0**-20]]


def test_matmul_takes_different_types():
    x = torch.ones(2, 3, dtype=torch.bfloat16)
    assert matmul(x, torch.full((1, 3), 0.1, dtype=torch.float64)).tolist() == [[0.1 * 3]] * 2


def quantized(nbits, N=8, K=1024, group_size=256, zeros="fractions"):
    """A `QuantizedWeight` of random codes; zeros are fractions, integers, or the top code."""
    top = 2**nbits - 1
    codes = torch.randint(0, top + 1, (N, K), generator=seeded(1)).to(torch.uint8)
    scales = 0.5 + torch.rand(N, K // group_size, generator=seeded(2))
    z = {
        "fractions": top * torch.rand(scales.shape, generator=seeded(3)),
        "integers": torch.randint(0, top + 1, scales.shape, generator=seeded(3)).float(),
        "top": torch.full(scales.shape, float(top)),
    }[zeros]
    return QuantizedWeight(codes, scales / top, z, nbits, group_size)


def terms_in_a_half(nbits):
    """A half2 adds up the codes of a word, half of them in each half, to a power of two."""
    in_a_word = 32 // nbits
    return 2 ** math.ceil(math.log2(in_a_word / 2))


def with_half2(x, q, terms=None):
    """y (M, N) float32 as gemv_a16wn_half2 computes it: `terms` products in a half, then fp32."""
    terms = terms_in_a_half(q.nbits) if terms is None else terms
    down = 1 / (terms_in_a_half(q.nbits) * 2**q.nbits)
    scales, zeros = (t.repeat_interleave(q.group_size, dim=1) for t in (q.scales, q.zeros))
    weights = (q.W_q * down + (-zeros * down).half().double()).half().double()
    padding = -x.shape[1] % terms
    products = x.double()[:, None] * weights[None]
    products = torch.nn.functional.pad(products, (0, padding)).unflatten(-1, (-1, terms))
    sums = torch.zeros(products.shape[:-1]).half()
    for product in products.unbind(-1):
        sums = (sums.double() + product).half()
    in_groups = torch.nn.functional.pad(scales, (0, padding))[:, ::terms]
    return (sums.float() / down * in_groups).sum(-1)


def halves(K=1024):
    return torch.randn(2, K, generator=seeded(0)).half()


HALF2_X = {
    "random": halves,
    "large": lambda: torch.where(halves() > 0, 65504.0, -65504.0).half(),
    "tiny": lambda: halves() * 2.0**-22,
    "the same": lambda: torch.full((2, 1024), 0.1).half(),
}
every_width = pytest.mark.parametrize("nbits", range(1, 9))


@every_width
@pytest.mark.parametrize("zeros", ["fractions", "integers", "top"])
@pytest.mark.parametrize("make_x", HALF2_X.values(), ids=HALF2_X)
def test_half2_sums_stay_within_their_bound(make_x, zeros, nbits):
    x, q = make_x(), quantized(nbits, zeros=zeros)
    expected = matmul(x, q.dequantize(torch.float64))
    error = (with_half2(x, q).double() - expected).abs()
    assert (error <= half2_error_bound(x, q, torch.float32)).all()


@every_width
def test_half2_sums_come_near_their_bound(nbits):
    x, q = HALF2_X["the same"](), quantized(nbits)
    error = (with_half2(x, q).double() - matmul(x, q.dequantize(torch.float64))).abs()
    assert half2_error_bound(x, q, torch.float32).max() < 40 * error.max()


@every_width
def test_more_products_in_a_half_exceed_the_bound(nbits):
    x, random = HALF2_X["the same"](), quantized(nbits, group_size=1024)
    top = torch.full_like(random.W_q, 2**nbits - 1)
    q = replace(random, W_q=top, zeros=torch.zeros_like(random.zeros))
    bound = half2_error_bound(x, q, torch.float32)
    expected = matmul(x, q.dequantize(torch.float64))
    assert ((with_half2(x, q).double() - expected).abs() <= bound).all()
    assert ((with_half2(x, q, terms=1024).double() - expected).abs() > bound).all()


@every_width
def test_the_half2_bound_is_under_two_percent_of_the_terms(nbits):
    x, q = halves(), quantized(nbits)
    terms = matmul(x.abs(), q.dequantize(torch.float64).abs())
    bound = half2_error_bound(x, q, torch.float16)
    assert (bound.shape, bound.dtype) == ((2, 8), torch.float64)
    assert (bound > error_bound(x, q.dequantize(torch.float64), torch.float16)).all()
    assert (bound < 0.02 * terms).all()


def test_one_scale_for_all_is_as_many_alike_to_the_half2_bound():
    x, q = halves(), quantized(4)
    one = torch.full((1, 1), 0.75)
    alike = torch.full(q.scales.shape, 0.75)
    bounds = [
        half2_error_bound(x, replace(q, scales=scales, zeros=scales), torch.float16)
        for scales in (one, alike)
    ]
    assert torch.allclose(*bounds, rtol=1e-12)


@pytest.mark.parametrize("bound", [error_bound, half2_error_bound])
def test_an_output_type_without_a_roundoff_is_named(bound):
    q = quantized(4)
    weights = q if bound is half2_error_bound else q.dequantize()
    with pytest.raises(ValueError, match="out_dtype must be one of .* got torch.int32"):
        bound(halves(), weights, torch.int32)


BITS, IN_ONE_DOT = 24, 8


def cut_off(values, step):
    """Values towards zero to a multiple of a power of two."""
    return torch.trunc(values / step) * step


def largest_step(values):
    """The step, in a sum of 24 bits, beside the largest of the values; (..., 1)."""
    exponent = torch.frexp(values.abs().amax(-1, keepdim=True))[1]
    return 2.0 ** (exponent.double() - BITS)


def on_tensor_cores(x, W, sums=None, in_one_dot=IN_ONE_DOT):
    """x W^T as the least exact tensor cores add it up: aligned to the largest and cut off, twice.

    sums: (M, N), of what came before.
    """
    sums = torch.zeros(len(x), len(W)).double() if sums is None else sums
    products = (x.double()[:, None] * W.double()[None]).unflatten(-1, (-1, in_one_dot))
    for some in products.unbind(-2):
        addends = torch.cat([sums[..., None], some], dim=-1)
        total = cut_off(addends, largest_step(addends)).sum(-1)
        sums = cut_off(total, largest_step(total[..., None])[..., 0])
    return sums


def in_fp16(x, W):
    """x W^T with a sum in fp16 that is cut off after every 8 products."""
    sums = torch.zeros(len(x), len(W)).double()
    for of_x, of_W in zip(x.double().split(8, 1), W.double().split(8, 1), strict=True):
        exact = sums + of_x @ of_W.T
        step = 2.0 ** (torch.frexp(exact)[1].double() - 11).clamp(min=-24)
        sums = cut_off(exact, step)
    return sums


def as_a_kernel_does(q, x, dtype, fused=None, fp16_run=None, channel=1.0, wrong_group=None):
    """Sums over K (M, N) float32 of a GEMM: weights in `dtype`, groups on tensor cores."""
    total = torch.zeros(len(x), len(q.W_q))
    for group in range(q.scales.shape[1]):
        columns = slice(group * q.group_size, (group + 1) * q.group_size)
        z, s = q.zeros[:, group, None], q.scales[:, group, None]
        codes, of_x = q.W_q[:, columns].to(dtype), x[:, columns]
        if fused is not None:
            W = codes * s.to(dtype) + (-z * s).to(fused).to(dtype)
            total += on_tensor_cores(of_x, W).float()
            continue
        W = codes - z.to(dtype)
        if fp16_run is None:
            sums = on_tensor_cores(of_x, W).float()
        else:
            runs = zip(of_x.split(fp16_run, 1), W.split(fp16_run, 1), strict=True)
            sums = sum(in_fp16(*run).float() for run in runs)
        total += sums * (s.T * 1.25 if group == wrong_group else s.T)
    return total * channel


def product_of(q, x, **factors):
    return ScaledProduct(x, q.W_q, q.scales, q.zeros, **factors)


def saturated(y, dtype):
    largest = torch.finfo(dtype).max
    return y.clamp(-largest, largest)


COMPUTE_DTYPES = [torch.float16, torch.bfloat16]
any_compute_dtype = pytest.mark.parametrize("dtype", COMPUTE_DTYPES)
every_zero = pytest.mark.parametrize("zeros", ["fractions", "integers", "top"])
TENSOR_CORE_X = {
    "random": lambda: torch.randn(2, 1024, generator=seeded(0)),
    "the same": lambda: torch.full((2, 1024), 0.1),
    "cancelling": lambda: torch.randn(2, 512, generator=seeded(0)).repeat(1, 2) * signs(512),
    "over octaves": lambda: (
        torch.randn(2, 1024, generator=seeded(0))
        * 2.0 ** torch.randint(-6, 6, (2, 1024), generator=seeded(1))
    ),
}


def signs(half):
    return torch.cat([torch.ones(half), -torch.ones(half)])


@any_compute_dtype
@every_zero
@pytest.mark.parametrize("nbits", [8, 4, 1])
@pytest.mark.parametrize("make_x", TENSOR_CORE_X.values(), ids=TENSOR_CORE_X)
def test_sums_of_tensor_cores_stay_within_their_bound(make_x, nbits, zeros, dtype):
    x, q = make_x().to(dtype), quantized(nbits, zeros=zeros)
    product = product_of(q, x)
    error = (as_a_kernel_does(q, x, dtype).double() - product.exact()).abs()
    bound = tensor_core_error_bound(product, torch.float32, compute_dtype=dtype)
    assert (error <= bound).all()


@any_compute_dtype
@pytest.mark.parametrize("fused", [torch.float32, torch.float16])
@every_zero
@pytest.mark.parametrize("nbits", [8, 4, 1])
def test_fused_weights_stay_within_their_bound(nbits, zeros, fused, dtype):
    x, q = TENSOR_CORE_X["random"]().to(dtype), quantized(nbits, zeros=zeros)
    product = product_of(q, x)
    error = (as_a_kernel_does(q, x, dtype, fused).double() - product.exact()).abs()
    options = {"compute_dtype": dtype, "fused_dtype": fused}
    assert (error <= tensor_core_error_bound(product, torch.float32, **options)).all()


@every_zero
@pytest.mark.parametrize("run", [64, 256])
@pytest.mark.parametrize("nbits", [8, 4, 1])
def test_sums_in_fp16_stay_within_their_bound(nbits, run, zeros):
    x, q = TENSOR_CORE_X["the same"]().half(), quantized(nbits, zeros=zeros)
    product = product_of(q, x)
    y = as_a_kernel_does(q, x, torch.float16, fp16_run=run)
    error = (y.double() - product.exact()).abs()
    bounds = [
        tensor_core_error_bound(
            product, torch.float32, compute_dtype=torch.float16, fp16_run=fp16_run
        )
        for fp16_run in (run, None)
    ]
    assert (error <= bounds[0]).all()
    assert (error > bounds[1]).any()
    assert bounds[0].max() < 60 * error.max()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("zeros", ["integers", "fractions"])
def test_a_scale_that_is_wrong_in_one_group_exceeds_the_bound(zeros, dtype):
    x, q = TENSOR_CORE_X["random"]().to(dtype), quantized(4, N=64, zeros=zeros)
    if (zeros, dtype) == ("fractions", torch.bfloat16):
        x = x.abs()
        q = replace(q, W_q=torch.full_like(q.W_q, 15), zeros=q.zeros / 4)
    product = product_of(q, x)
    bound = tensor_core_error_bound(product, torch.float32, compute_dtype=dtype)
    right, wrong = (
        (as_a_kernel_does(q, x, dtype, wrong_group=group).double() - product.exact()).abs()
        for group in (None, 2)
    )
    assert (right <= bound).all()
    assert (wrong > bound).double().mean() > 0.5


@pytest.mark.parametrize("out_dtype", [*OUT_DTYPES, torch.float8_e4m3fn, torch.float8_e5m2])
def test_the_finish_stays_within_the_bound(out_dtype):
    """Scales of channels and tokens, a bias, and a rounding that saturates in fp8."""
    x, q = TENSOR_CORE_X["random"]().half(), quantized(4, N=64)
    channel, token = (torch.rand(n, generator=seeded(n)) * 9 for n in (64, 2))
    bias = torch.randn(64, generator=seeded(9)) * 50
    product = product_of(q, x, channel_scales=channel, token_scales=token, bias=bias)
    sums = as_a_kernel_does(q, x, torch.float16)
    y = sums * channel * token[:, None] + bias
    if out_dtype.itemsize == 1:
        assert (y.abs() > torch.finfo(torch.float8_e4m3fn).max).any()
        y, exact = saturated(y, out_dtype), saturated(product.exact(), out_dtype)
    else:
        exact = product.exact()
    bound = tensor_core_error_bound(product, out_dtype, compute_dtype=torch.float16)
    assert ((y.to(out_dtype).double() - exact).abs() <= bound).all()
    without_bias = (y - bias).to(out_dtype)
    assert ((without_bias.double() - exact).abs() > bound).double().mean() > 0.3


@every_zero
@pytest.mark.parametrize("fused", [None, torch.float32, torch.float16])
@pytest.mark.parametrize("order", ORDERS)
def test_factored_sums_stay_within_their_bound(order, fused, zeros):
    x, q = TENSOR_CORE_X["random"]().half(), quantized(4, zeros=zeros)
    total = 0
    for group in range(q.scales.shape[1]):
        columns = slice(group * q.group_size, (group + 1) * q.group_size)
        z, s, of_x = q.zeros[:, group], q.scales[:, group], x[:, columns].float()
        sums = order(of_x[:, None] * q.W_q[:, columns].float()[None])
        sum_x = order(of_x)[:, None]
        if fused is None:
            total = total + (sums - z * sum_x) * s
        else:
            total = total + (sums * s + (-z * s).to(fused).float() * sum_x)
    product = product_of(q, x)
    error = (total.double() - product.exact()).abs()
    bound = factored_error_bound(product, torch.float32, fused_dtype=fused)
    assert (error <= bound).all()
    assert (bound < 0.001 * matmul(x.abs(), torch.full((8, 1024), 1.5))).all() or fused


def in_parts(q, x, offset=0, wrong_group=None):
    """Sums over K (M, N) float32 of codes with an offset, which is taken off part by part."""
    offsets = torch.tensor([offset, offset / 2]).repeat(q.group_size // 2)
    total = torch.zeros(len(x), len(q.W_q))
    for group in range(q.scales.shape[1]):
        columns = slice(group * q.group_size, (group + 1) * q.group_size)
        of_x, z, s = x[:, columns].float(), q.zeros[:, group], q.scales[:, group]
        dots = on_tensor_cores(of_x, q.W_q[:, columns] + offsets).float()
        sums, of_offsets = of_x.sum(1, keepdim=True), (of_x * offsets).sum(1, keepdim=True)
        total += (1.25 * s if group == wrong_group else s) * (dots - of_offsets - z * sums)
    return total


@every_zero
@pytest.mark.parametrize("nbits, offset", [(8, 0), (4, 0), (2, 256), (1, 256)])
@pytest.mark.parametrize("make_x", TENSOR_CORE_X.values(), ids=TENSOR_CORE_X)
def test_sums_in_parts_stay_within_their_bound(make_x, nbits, offset, zeros):
    x, q = make_x().half(), quantized(nbits, zeros=zeros)
    product = product_of(q, x)
    bound = parts_error_bound(product, torch.float32, part=q.group_size, offset=offset)
    assert ((in_parts(q, x, offset).double() - product.exact()).abs() <= bound).all()


@every_zero
def test_a_part_with_a_wrong_scale_exceeds_the_bound(zeros):
    x, q = TENSOR_CORE_X["random"]().half(), quantized(4, zeros=zeros)
    product = product_of(q, x)
    bound = parts_error_bound(product, torch.float32, part=q.group_size)
    wrong = (in_parts(q, x, wrong_group=1).double() - product.exact()).abs() > bound
    assert wrong.double().mean() > 0.9


def test_codes_with_a_sign_leave_the_bound_of_sums_in_parts_as_it_is():
    x, q = TENSOR_CORE_X["random"]().half(), quantized(4)
    product, levels = product_of(q, x), q.W_q.double() - 16
    bounds = [
        parts_error_bound(replace(product, codes=codes, zeros=None), torch.float32, part=128)
        for codes in (levels, -levels)
    ]
    assert torch.equal(*bounds) and (bounds[0] > 0).all()


def test_int8_sums_have_no_error_but_that_of_the_finish():
    x = torch.randint(-128, 128, (3, 512), generator=seeded(0)).to(torch.int8)
    W = torch.randint(-128, 128, (5, 512), generator=seeded(1)).to(torch.int8)
    product = ScaledProduct(x, W, channel_scales=torch.full((5,), 0.1))
    y = (x.int().double() @ W.double().T).float() * 0.1
    bound = tensor_core_error_bound(product, torch.float32, compute_dtype=torch.int8)
    assert ((y.double() - product.exact()).abs() <= bound).all()
    assert (bound < 1e-5 * matmul(x.double().abs(), W.double().abs())).all()


def test_a_product_is_its_parts():
    product = ScaledProduct(
        torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
        torch.tensor([[3, 5]], dtype=torch.uint8),
        scales=torch.tensor([[2.0, 0.5]]),
        zeros=torch.tensor([[1.0, 7.0]]),
        channel_scales=torch.tensor([10.0]),
        token_scales=torch.tensor([1.0, 3.0]),
        bias=torch.tensor([0.5]),
    )
    assert product.exact().tolist() == [[(4 - 2) * 10 + 0.5], [-1 * 10 * 3 + 0.5]]
    assert replace(product, scales=None, bias=None).exact().tolist() == [[-20.0], [-60.0]]


def test_weights_that_fp16_holds_have_no_error_of_their_own():
    x = TENSOR_CORE_X["random"]().half()
    integers, fractions = (quantized(8, zeros=zeros) for zeros in ("integers", "fractions"))
    small, large = (
        tensor_core_error_bound(product_of(q, x), torch.float32, compute_dtype=torch.float16)
        for q in (integers, fractions)
    )
    assert (small < large / 2).all()


# Scales that are in the weights before the sum: `mixed_mm_transposed`, and dense weights


def rows_of_groups(nbits=4, N=64, K=16, group_size=4, signed=False, zeros="fractions", seed=0):
    """A `ScaledProduct` of y = x W, a sum over the N rows of W with scales over octaves.

    The oracle knows of outputs in rows: its codes are W_q^T (K, N), and every one has its scale.
    """
    generator = seeded(seed)
    top, low = 2**nbits - 1, -(2 ** (nbits - 1)) if signed else 0
    codes = torch.randint(0, top + 1, (K, N), generator=generator) + low
    shape = K // group_size, N
    octaves = 2.0 ** -torch.randint(3, 8, shape, generator=generator)
    scales = octaves * (1 + torch.rand(shape, generator=generator))
    z = {
        "fractions": top * torch.rand(shape, generator=generator) + low,
        "tiny": 2.0**-9 * torch.rand(shape, generator=generator),
        "integers": torch.randint(0, top + 1, shape, generator=generator).float() + low,
    }[zeros]
    x = torch.randn(3, N, generator=generator)
    scales, z = (t.repeat_interleave(group_size, dim=0) for t in (scales, z))
    return ScaledProduct(x, codes, scales, z)


def with_scaled_weights(product, dtype, code_shift=0, fp16_run=None):
    """y (M, K) float32 of a GEMM whose weights are scaled in `dtype` before they are added up."""
    z = (product.zeros + code_shift).to(dtype)
    W = ((product.codes + code_shift).to(dtype) - z) * product.scales.to(dtype)
    x = product.x.to(dtype)
    if fp16_run is None:
        return on_tensor_cores(x, W).float()
    return sum(
        in_fp16(*run).float()
        for run in zip(x.split(fp16_run, 1), W.split(fp16_run, 1), strict=True)
    )


def with_dense_weights(product, dtype, code_shift=0, parts=4):
    """y (M, K) of weights made in float32; parts of the sum are rounded to `dtype`, and y."""
    codes = (product.codes + code_shift).float()
    W = ((codes - (product.zeros + code_shift)) * product.scales).to(dtype)
    length = W.shape[1] // parts
    columns = zip(product.x.to(dtype).split(length, 1), W.split(length, 1), strict=True)
    return sum(on_tensor_cores(*some).to(dtype).float() for some in columns).to(dtype)


def in_type(product, dtype):
    """The same with an x that `dtype` holds."""
    return replace(product, x=product.x.to(dtype))


every_shift = pytest.mark.parametrize("signed", [False, True])
other_zeros = pytest.mark.parametrize("zeros", ["fractions", "tiny", "integers"])


@any_compute_dtype
@other_zeros
@every_shift
@pytest.mark.parametrize("N", [8, 64, 1024])
def test_scaled_weights_stay_within_their_bound(N, signed, zeros, dtype):
    product = in_type(rows_of_groups(N=N, zeros=zeros, signed=signed), dtype)
    shift = 8 * signed
    error = (with_scaled_weights(product, dtype, shift).double() - product.exact()).abs()
    options = {"compute_dtype": dtype, "code_shift": shift}
    bound = scaled_weights_error_bound(product, torch.float32, **options)
    assert (error <= bound).all()
    assert bound.max() < 300 * error.max()


@every_shift
@pytest.mark.parametrize("run", [64, 256])
def test_scaled_weights_in_fp16_sums_stay_within_their_bound(run, signed):
    product = in_type(rows_of_groups(N=1024, signed=signed, zeros="integers"), torch.float16)
    x = torch.full_like(product.x, 0.1)
    scales = torch.full_like(product.scales, 2.0**-5)
    zeros = torch.full_like(product.zeros, -8.0 if signed else 0.0)
    product = replace(product, x=x, scales=scales, zeros=zeros)
    y = with_scaled_weights(product, torch.float16, 8 * signed, run)
    error = (y.double() - product.exact()).abs()
    bounds = [
        scaled_weights_error_bound(
            product, torch.float32, compute_dtype=torch.float16, fp16_run=fp16_run
        )
        for fp16_run in (run, None)
    ]
    assert (error <= bounds[0]).all()
    assert (error > bounds[1]).any()
    assert bounds[0].max() < 60 * error.max()


def test_sums_of_steps_that_fp16_loses_stay_within_the_bound():
    """Terms so small that fp16 cuts off 8 of them together."""
    product = rows_of_groups(N=1024)
    scales = torch.full_like(product.scales, 2.0**-20)
    codes = torch.full_like(product.codes, 1)
    x = torch.full_like(product.x, 2.0**-8)
    product = replace(product, x=x, codes=codes, scales=scales, zeros=torch.zeros_like(scales))
    y = with_scaled_weights(product, torch.float16, fp16_run=64)
    error = (y.double() - product.exact()).abs()
    bound = scaled_weights_error_bound(
        product, torch.float32, compute_dtype=torch.float16, fp16_run=64
    )
    assert (y == 0).all() and (error > 0).all() and (error <= bound).all()


@any_compute_dtype
@other_zeros
@every_shift
def test_a_wrong_scale_of_one_in_sixteen_rows_exceeds_the_bound(signed, zeros, dtype):
    product = in_type(rows_of_groups(N=64, K=64, zeros=zeros, signed=signed), dtype)
    product = replace(product, x=product.x.abs().clamp(min=0.5).to(dtype))
    product = replace(product, codes=torch.where(product.codes < 4, 7, product.codes))
    product = replace(product, zeros=product.zeros * (0.25 if signed else 0.2))
    wrong = product.scales.clone()
    wrong[:, ::16] *= 4
    options = {"compute_dtype": dtype, "code_shift": 8 * signed}
    bound = scaled_weights_error_bound(product, torch.float32, **options)
    y = with_scaled_weights(replace(product, scales=wrong), dtype, 8 * signed)
    assert ((y.double() - product.exact()).abs() > 2 * bound).double().mean() > 0.9


def test_scaled_weights_that_fp16_holds_have_no_error_of_their_own():
    product = in_type(rows_of_groups(N=64, zeros="integers"), torch.float16)
    octaves = replace(product, scales=2.0 ** product.scales.log2().floor())
    exact, rounded = (
        scaled_weights_error_bound(one, torch.float32, compute_dtype=torch.float16)
        for one in (octaves, product)
    )
    terms = matmul(octaves.x.abs(), ((octaves.codes - octaves.zeros) * octaves.scales).abs())
    assert (exact < 1.1 * (1.5 * 64 + 6) * 2.0**-23 * terms).all()
    assert (exact < rounded / 10).all()


def test_the_rounding_of_a_signed_zero_beside_eight_is_in_the_bound():
    """z + 8 takes bits from a small z, which q - z would have kept."""
    product = in_type(rows_of_groups(N=64, signed=True, zeros="tiny"), torch.float16)
    product = replace(product, codes=torch.zeros_like(product.codes))
    y = with_scaled_weights(product, torch.float16, code_shift=8)
    error = (y.double() - product.exact()).abs()
    with_shift, without = (
        scaled_weights_error_bound(
            product, torch.float32, compute_dtype=torch.float16, code_shift=shift
        )
        for shift in (8, 0)
    )
    assert (error <= with_shift).all()
    assert (error > without).any()


@any_compute_dtype
@other_zeros
@every_shift
def test_signed_codes_that_were_raised_stay_within_the_bound(signed, zeros, dtype):
    """The forward kernel: scales after the sum, codes and zeros raised by 8 before it."""
    product = in_type(rows_of_groups(N=64, signed=signed, zeros=zeros), dtype)
    ones = torch.ones_like(product.scales)
    y = with_scaled_weights(replace(product, scales=ones), dtype, 8 * signed)
    product = replace(product, scales=None)
    options = {"compute_dtype": dtype, "code_shift": 8 * signed}
    bound = tensor_core_error_bound(product, torch.float32, **options)
    assert ((y.double() - product.exact()).abs() <= bound).all()


@pytest.mark.parametrize("K, group_size", [(2, 1), (2, 2), (4, 1), (10, 5), (64, 1), (64, 2)])
@pytest.mark.parametrize("begins", [0, 5, 15])
def test_small_groups_in_tiles_filled_up_with_zeros_stay_within_the_bound(begins, K, group_size):
    q = quantized(4, N=64, K=K, group_size=group_size)
    x = torch.randn(2, K, generator=seeded(0)).half()
    total = torch.zeros(2, 64)
    for group in range(K // group_size):
        columns = slice(group * group_size, (group + 1) * group_size)
        W = q.W_q[:, columns].half() - q.zeros[:, group, None].half()
        filled = (begins, -(begins + group_size) % 16)
        sums = on_tensor_cores(*(torch.nn.functional.pad(t, filled) for t in (x[:, columns], W)))
        total += sums.float() * q.scales[:, group]
    product = product_of(q, x)
    bound = tensor_core_error_bound(product, torch.float32, compute_dtype=torch.float16)
    assert ((total.double() - product.exact()).abs() <= bound).all()


@any_compute_dtype
@other_zeros
@every_shift
@pytest.mark.parametrize("parts", [1, 4])
def test_dense_weights_stay_within_their_bound(parts, signed, zeros, dtype):
    product = in_type(rows_of_groups(N=256, zeros=zeros, signed=signed), dtype)
    y = with_dense_weights(product, dtype, 8 * signed, parts)
    error = (y.double() - product.exact()).abs()
    options = {"weight_dtype": dtype, "code_shift": 8 * signed}
    bound = dequantized_error_bound(product, dtype, **options)
    assert (error <= bound).all()
    assert bound.max() < 200 * error.max()


@any_compute_dtype
@other_zeros
def test_a_wrong_scale_exceeds_the_bound_of_dense_weights(zeros, dtype):
    product = in_type(rows_of_groups(N=64, K=64, zeros=zeros), dtype)
    product = replace(product, x=product.x.abs().clamp(min=0.5).to(dtype))
    product = replace(product, codes=torch.full_like(product.codes, 12), zeros=product.zeros / 5)
    wrong = product.scales.clone()
    wrong[:, ::16] *= 4
    bound = dequantized_error_bound(product, dtype, weight_dtype=dtype)
    y = with_dense_weights(replace(product, scales=wrong), dtype)
    assert ((y.double() - product.exact()).abs() > 2 * bound).double().mean() > 0.9


@pytest.mark.parametrize(
    "bound, own_type",
    [(scaled_weights_error_bound, "compute_dtype"), (dequantized_error_bound, "weight_dtype")],
)
def test_an_output_type_without_a_roundoff_is_named_for_scaled_weights(bound, own_type):
    with pytest.raises(ValueError, match="out_dtype must be one of .* got torch.int32"):
        bound(rows_of_groups(), torch.int32, **{own_type: torch.float16})
