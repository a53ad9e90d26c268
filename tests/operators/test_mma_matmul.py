"""The product by mma.sync for weights of a layer: what it takes, and where the layer takes it."""

from functools import partial
from unittest import mock

import pytest
import torch
from linear_cases import activations, make
from mma_cases import A100, RTX_4090, cases_of_a_layer
from triton_cases import example, is_right, make_case

from gemlite_edu import GemLiteLinear, quantize_to_format
from gemlite_edu.core import DType
from gemlite_edu.kernels.machine import H200, Machine
from gemlite_edu.numbers.formats import INT3, INT6
from gemlite_edu.operators import form, linear_op, triton_product
from gemlite_edu.operators.cuda_product import GEMM_MMA
from gemlite_edu.operators.triton_product import Epilogue
from gemlite_edu.packing.piece_tiles import PieceTiles
from gemlite_edu.packing.plain_tiles import PlainTiles
from gemlite_edu.packing.plane_tiles import PlaneTiles

FP16, BF16, FP32 = torch.float16, torch.bfloat16, torch.float32
T4 = Machine((7, 5), 40)
takes = GEMM_MMA.takes
small = partial(example, "gemm", N=24, K_and_group=(256, 64), word_bits=32)


@pytest.mark.parametrize("case", cases_of_a_layer(count=12), ids=str)
def test_every_mode_factor_and_term(case):
    inputs = make_case(case)
    assert takes(inputs.weight.layout, case.x_dtype, case.y_dtype, A100, inputs.weight.N)
    assert is_right(case, inputs, GEMM_MMA(inputs.x, inputs.weight, inputs.epilogue))


def test_no_rows_of_x_give_no_rows_of_y():
    inputs = make_case(small())
    y = GEMM_MMA(inputs.x[:0], inputs.weight, Epilogue(FP32))
    assert (tuple(y.shape), y.dtype) == ((0, 24), FP32)


REFUSED = {
    "3 bits in two tensors": (PlaneTiles(3, 512), FP16, FP16, A100, 8),
    "short words": (PlaneTiles(4, 512, word_bits=16), FP16, FP16, A100, 8),
    "padded groups": (PlaneTiles(4, 960, 96), FP16, FP16, A100, 8),
    "weights that are numbers": (PlainTiles(torch.int8, 512), FP16, FP16, A100, 8),
    "fp8 y": (PlaneTiles(4, 512), FP16, torch.float8_e4m3fn, A100, 8),
    "an older GPU": (PlaneTiles(4, 512), FP16, FP16, T4, 8),
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_take(arguments):
    assert not takes(*arguments)


@pytest.mark.parametrize("machine", [A100, RTX_4090, H200, Machine((12, 0), 170)])
@pytest.mark.parametrize("x_dtype", [FP16, BF16])
def test_what_it_takes(machine, x_dtype):
    layouts = PlaneTiles(4, 1000), PlaneTiles(1, 512, 16, 16), PieceTiles(7, 512, 64)
    for layout in layouts:
        assert takes(layout, x_dtype, FP32, machine, 13)


# In the layer


@pytest.mark.parametrize(
    "machine, chosen",
    [
        (T4, ["GEMV_FAST", "GEMM_SPLITK", "GEMM_SPLITK", "DEQUANTIZE"]),
        (A100, ["GEMV_FAST", "GEMM_MMA", "GEMM_MMA", "DEQUANTIZE"]),
        (RTX_4090, ["GEMV_FAST", "GEMM_MMA", "GEMM_MMA", "DEQUANTIZE"]),
        (H200, ["GEMM_FAST", "GEMM_FAST", "GEMM_FAST", "GEMM_FAST"]),
    ],
)
def test_the_layer_says_where_it_takes_it(machine, chosen):
    layer = make(4, 128, N=24, K=256).layer
    for M, name in zip((8, 9, 64, 65), chosen, strict=True):
        assert layer.explain(M, machine=machine).startswith(f"M = {M}: {name}, ")


@pytest.mark.parametrize("format", [INT3, INT6], ids=str)
@pytest.mark.parametrize("machine, N", [(A100, 24), (H200, 20)])
def test_weights_that_no_triton_kernel_reads_keep_it_up_to_1024_rows(format, machine, N):
    """On Hopper it takes the outputs that gemm_a16wn_fast does not take."""
    layer = GemLiteLinear.from_coded(quantize_to_format(torch.randn(N, 256), format))
    chosen = {M: layer.explain(M, machine=machine).split()[3] for M in (8, 9, 64, 65, 1024, 1025)}
    assert [*chosen.values()] == ["GEMV_FAST,", *4 * ["GEMM_MMA,"], "DEQUANTIZE,"]


@pytest.mark.parametrize("format", [INT3, INT6], ids=str)
def test_hopper_keeps_such_weights_packed_for_any_number_of_rows(format):
    layer = GemLiteLinear.from_coded(quantize_to_format(torch.randn(24, 256), format))
    chosen = {M: layer.explain(M, machine=H200).split()[3] for M in (4, 5, 64, 4096)}
    assert [*chosen.values()] == ["GEMV_FAST,", *3 * ["GEMM_FAST,"]]


def test_explain_names_the_kernel_and_why():
    text = make(3, 128, N=24, K=256, y=DType.FP32).layer.explain(16, machine=A100)
    assert "M = 16: GEMM_MMA, gemm_a16wn_mma" in text
    assert "up to 1024 rows: GEMM_MMA" in text
    assert "each decoded once for all rows" in text


@pytest.mark.parametrize("M", [9, 33])
@pytest.mark.parametrize("x", [DType.FP16, DType.BF16])
def test_the_layer_multiplies_by_it(monkeypatch, M, x):
    monkeypatch.setattr(form, "machine_for_cuda", lambda *of: A100)
    linear_op._prepared.cache_clear()
    problem = make(4, 128, N=20, K=256, x=x, y=x, bias=torch.float16)
    rows = activations(M, 256, x.value)
    problem.assert_right(problem.layer(rows), rows, kernel="GEMM_MMA")
    linear_op._prepared.cache_clear()


def test_a_turing_gpu_keeps_triton_and_refuses_bfloat16_in_one_sentence():
    fp16, bf16 = (make(4, 128, N=24, K=256, x=x, y=x).layer for x in (DType.FP16, DType.BF16))
    told = "the Triton kernels take bfloat16 x from compute capability 8.0 on: use float16"
    assert "M = 16: GEMM_SPLITK" in fp16.explain(16, machine=T4)
    assert "refused" not in fp16.explain(16, machine=T4)
    assert f"\nrefused: {told}\n" in bf16.explain(16, machine=T4)
    assert "refused" not in bf16.explain(8, machine=T4)
    assert "refused" not in bf16.explain(16, machine=A100)


def test_the_triton_kernels_refuse_it_there():
    inputs = make_case(small(x_dtype=BF16))
    on_gpu = mock.Mock(wraps=inputs.x, spec=torch.Tensor, dtype=BF16, is_cuda=True)
    on_gpu.dim.return_value, on_gpu.shape = 2, inputs.x.shape
    capability = mock.patch.object(torch.cuda, "get_device_capability", lambda device: (7, 5))
    with capability, pytest.raises(ValueError, match="^the Triton kernels take bfloat16 x from"):
        triton_product.matmul("gemm", on_gpu, inputs.weight)
