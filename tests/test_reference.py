import math
from dataclasses import replace

import pytest
import torch

from gemlite_edu.quantize import QuantizedWeight
from gemlite_edu.reference import error_bound, half2_error_bound, matmul

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
