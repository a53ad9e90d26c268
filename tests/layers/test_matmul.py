"""GemLiteMatmul: GemLite's calls, and beyond them groups, channels, batches, compilers."""

import pytest
import torch

from gemlite_edu import DType, GemLiteMatmul
from gemlite_edu.kernels.errors import KernelTextError
from gemlite_edu.numbers import bounds, reference
from gemlite_edu.operators import gemv_op
from gemlite_edu.packing import pack_3bit_planes, pack_sparse_1in2, tiled_sparsity_50

TYPES = {DType.FP16: torch.float16, DType.BF16: torch.bfloat16}


def codes(nbits, N=40, K=300, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 2**nbits, (N, K), generator=generator, dtype=torch.uint8)


def activations(shape, dtype=torch.float16, seed=1):
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, generator=generator, dtype=dtype)
    return torch.randn(shape, generator=generator).to(dtype)


def is_right(y, x, W):
    """Whether y is x Wᵀ, W dequantized in fp64 with one more rounding for 1 / w_scale."""
    bound = bounds.error_bound(x, W, y.dtype) * (1 + 2**-20)
    return bool(((y.double() - reference.matmul(x, W)).abs() <= bound).all())


@pytest.mark.parametrize("nbits", [8, 4, 3, 2])
def test_the_calls_of_seed_000_run_with_the_package_name_changed(nbits):
    W_uint, w_zero, w_scale = codes(nbits), 2 ** (nbits - 1) - 1, 2.0**nbits - 1
    W_int32_packed = GemLiteMatmul.pack_warped_int32(W_uint, nbits=nbits)

    x_fp16 = activations((1, 300))
    fp16 = GemLiteMatmul(W_nbits=nbits, input_dtype=DType.FP16, output_dtype=DType.FP16).forward
    out = fp16(x_fp16, W_int32_packed, w_zero, w_scale)
    assert out.dtype == torch.float16
    assert is_right(out, x_fp16, (W_uint.double() - w_zero) / w_scale)

    x_int8 = activations((1, 300), torch.int8)
    int8 = GemLiteMatmul(W_nbits=nbits, input_dtype=DType.INT8, output_dtype=DType.INT32).forward
    out = int8(x_int8, W_int32_packed, w_zero)
    assert torch.equal(out, x_int8.int() @ (W_uint.int() - w_zero).T)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("group_size, columns", [(None, 1), (60, 5), (60, 1)])
def test_channels_groups_and_batches(group_size, columns, dtype):
    W_uint, x = codes(4), activations((3, 300), TYPES[dtype])
    w_zero = torch.randint(0, 16, (40, columns))
    w_scale = torch.rand(40, columns) + 0.5
    matmul = GemLiteMatmul(4, dtype, group_size=group_size)
    y = matmul.forward(x, matmul.pack_warped_int32(W_uint, 4), w_zero, w_scale)
    zeros, scales = (t.repeat_interleave(300 // columns, 1) for t in (w_zero, w_scale.double()))
    assert is_right(y, x, (W_uint.double() - zeros) / scales)


def test_x_may_have_more_dimensions_or_one():
    W_packed, matmul = GemLiteMatmul.pack_warped_int32(codes(4), 4), GemLiteMatmul(4)
    x = activations((2, 3, 300))
    y = matmul(x, W_packed, 7, 9.0)
    assert y.shape == (2, 3, 40)
    assert torch.equal(matmul(x[1, 2], W_packed, 7, 9.0), y[1, 2])
    assert matmul(x[:0], W_packed, 7, 9.0).shape == (0, 3, 40)


def test_a_scale_left_out_is_one():
    W_packed, x = GemLiteMatmul.pack_warped_int32(codes(2), 2), activations((1, 300))
    assert torch.equal(GemLiteMatmul(2)(x, W_packed, 1), GemLiteMatmul(2)(x, W_packed, 1, 1.0))


def test_other_kernels_take_their_own_words():
    x, W_uint = activations((2, 300)), codes(3)
    planes = GemLiteMatmul(3, kernel="gemv_a16w3_planes")
    assert is_right(planes(x, pack_3bit_planes(W_uint), 4, 2.0), x, (W_uint.double() - 4) / 2)
    kept = tiled_sparsity_50(torch.randn(40, 300, generator=torch.Generator().manual_seed(2)))
    sparse = GemLiteMatmul(7, kernel="gemv_a16w7_sparse", group_size=60)
    W = (codes(7).double() - 64) / 32 * kept
    assert is_right(sparse(x, pack_sparse_1in2(codes(7), kept), 64, 32.0), x, W)


NEGATED = """
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f;
  for (int j = 0; j < CODES_PER_GROUP; ++j) {
    sum -= ((word >> (32 - W_NBITS * (j + 1)) & CODE_MASK) - zero) * to_float(x[j * WARP_SIZE]);
  }
  return sum;
}"""


def test_your_own_dequantization_is_used_and_shown():
    x, W_packed = activations((1, 300)), GemLiteMatmul.pack_warped_int32(codes(4), 4)
    mine = GemLiteMatmul(4, group_size=60, replace={"dequant_dot": NEGATED})
    shipped = GemLiteMatmul(4, group_size=60)
    assert torch.equal(mine(x, W_packed, 7, 8.0), -shipped(x, W_packed, 7, 8.0))
    assert "sum -= " in repr(mine) and "sum" not in repr(shipped)
    assert "nbits=4, group_size=60" in repr(shipped)


def test_torch_compile_takes_it_whole():
    matmul, x = GemLiteMatmul(4), activations((1, 300))
    W_packed, w_scale = matmul.pack_warped_int32(codes(4), 4), torch.rand(40, 1) + 0.5

    def layer(x, w_scale):
        return torch.relu(matmul(x, W_packed, 7, w_scale) * 2)

    compiled = torch.compile(layer, fullgraph=True)
    assert torch.equal(compiled(x, w_scale), layer(x, w_scale))
    more = activations((5, 300))
    assert torch.equal(compiled(more, w_scale), layer(more, w_scale))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int8])
def test_meta_tensors_get_shape_and_type(dtype):
    matmul = GemLiteMatmul(4, DType(dtype))
    x = torch.empty(7, 300, dtype=dtype, device="meta")
    y = matmul(x, torch.empty(40, 64, dtype=torch.int32, device="meta"), 3)
    assert (y.shape, y.device.type) == ((7, 40), "meta")
    assert y.dtype == (torch.int32 if dtype == torch.int8 else dtype)
    with pytest.raises(RuntimeError, match="x has K = 300, for which W_packed must have 64"):
        matmul(x, torch.empty(40, 38, dtype=torch.int32, device="meta"), 3)


@pytest.mark.parametrize(
    "kernel, dtype, group_size",
    [
        ("gemv_a16wn_fp32", torch.float16, None),
        ("gemv_a16wn_fp32", torch.bfloat16, 60),
        ("gemv_a8wn_dp4a", torch.int8, None),
    ],
)
def test_torch_accepts_the_operator(kernel, dtype, group_size):
    one = torch.ones(1, 1, dtype=torch.int32 if dtype == torch.int8 else torch.float32)
    W_packed = GemLiteMatmul.pack_warped_int32(codes(4), 4)
    arguments = (activations((2, 300), dtype), W_packed, one, one, kernel, 4, group_size, "{}")
    torch.library.opcheck(gemv_op.gemv, arguments)


@pytest.mark.parametrize(
    "make, error, sentence",
    [
        (lambda: GemLiteMatmul(4, torch.float16), ValueError, "input_dtype must be one of DType."),
        (lambda: GemLiteMatmul(4, DType.INT32), ValueError, "input_dtype must be one of DType."),
        (
            lambda: GemLiteMatmul(4, DType.FP16, DType.INT32),
            ValueError,
            "output_dtype must be DType.FP16 for DType.FP16, got DType.INT32",
        ),
        (lambda: GemLiteMatmul(9), ValueError, "nbits must be from 1 to 8, got 9"),
        (lambda: GemLiteMatmul(4, group_size=0), ValueError, "group_size must be an int of 1"),
        (lambda: GemLiteMatmul(4, kernel="gemv"), ValueError, "kernel must be one of gemv_a16wn"),
        (
            lambda: GemLiteMatmul(4, kernel="gemv_a16w16_warp"),
            ValueError,
            "kernel must be one of gemv_a16wn_fp32",
        ),
        (
            lambda: GemLiteMatmul(4, kernel="gemv_a16w7_sparse"),
            ValueError,
            "gemv_a16w7_sparse has 7-bit weights, got nbits = 4",
        ),
        (
            lambda: GemLiteMatmul(4, DType.BF16, kernel="gemv_a16wn_half2"),
            ValueError,
            "x_dtype must be torch.float16 for gemv_a16wn_half2, got torch.bfloat16",
        ),
        (
            lambda: GemLiteMatmul(4, replace={"dequant_dot": "float f() { return 1; }"}),
            KernelTextError,
            "must define the function dequant_dot",
        ),
    ],
)
def test_a_wrong_argument_gets_one_sentence(make, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "dtype, arguments, error, sentence",
    [
        (torch.bfloat16, (7, 1.0), TypeError, "x must be torch.float16, got torch.bfloat16"),
        (torch.float16, ("7", 1.0), TypeError, "w_zero must be a number or a float32 tensor"),
        (torch.float16, (7, 0), ValueError, "w_scale divides, so it must not be 0"),
        (torch.float16, (7, torch.ones(40, 5)), ValueError, r"w_scale must be one number or \(40"),
        (torch.float16, (7, torch.ones(5)), ValueError, "w_scale must be one number"),
        (torch.float16, (1e300, 1.0), ValueError, "w_zero must fit in float32, got 1e.300"),
        (torch.float16, (torch.ones(1).double(), 1.0), TypeError, "use w_zero.float()"),
        (torch.float16, (7, torch.ones(1, requires_grad=True)), ValueError, "requires grad"),
        (torch.int8, (7, 2.0), ValueError, "divide the result by w_scale"),
        (torch.int8, (7.5,), ValueError, "w_zero must be a whole number of int32"),
        (torch.int8, (float("nan"),), ValueError, "w_zero must be a whole number of int32"),
        (torch.int8, (2**40,), ValueError, "may leave int32: a zero or scale is too large"),
        (torch.int8, (10**6,), ValueError, "may leave int32: split K, up to 16 in a call"),
        (torch.int8, (torch.ones(40, 1),), TypeError, "w_zero must be int32, got torch.float32"),
        (torch.int8, (torch.tensor([[2**32]]),), TypeError, "w_zero must be int32, .*int64: use"),
    ],
)
def test_a_wrong_call_gets_one_sentence(dtype, arguments, error, sentence):
    matmul = GemLiteMatmul(4, DType.INT8 if dtype == torch.int8 else DType.FP16)
    W_packed = matmul.pack_warped_int32(codes(4), 4)
    with pytest.raises(error, match=sentence):
        matmul(activations((1, 300), dtype), W_packed, *arguments)


def test_small_integer_types_are_taken_as_zeros():
    matmul, x = GemLiteMatmul(4, DType.INT8), activations((1, 300), torch.int8)
    W_packed = matmul.pack_warped_int32(codes(4), 4)
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32):
        zeros = torch.full((40, 1), 7, dtype=dtype)
        assert torch.equal(matmul(x, W_packed, zeros), matmul(x, W_packed, 7))


def test_the_default_dtype_does_not_matter():
    matmul, x = GemLiteMatmul(4), activations((1, 300))
    W_packed = matmul.pack_warped_int32(codes(4), 4)
    y = matmul(x, W_packed, 7, 2.0)
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert torch.equal(matmul(x, W_packed, 7, 2.0), y)
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_gradient_is_refused():
    matmul, x = GemLiteMatmul(4), activations((1, 300)).requires_grad_()
    W_packed = matmul.pack_warped_int32(codes(4), 4)
    with pytest.raises(ValueError, match="x requires grad and this kernel has no backward"):
        matmul(x, W_packed, 7, 1.0)
    with torch.no_grad():
        matmul(x, W_packed, 7, 1.0)
