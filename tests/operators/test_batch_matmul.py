"""The product for batches for weights of a layer: every mode, factor and term, exact."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from batch_cases import cases_of_a_layer
from triton_cases import example, is_right, make_case

from gemlite_edu.kernels.machine import H200, Machine
from gemlite_edu.operators.cuda_product import GEMM_FAST, GEMV_FAST
from gemlite_edu.operators.triton_product import Epilogue
from gemlite_edu.packing.piece_tiles import PieceTiles
from gemlite_edu.packing.plain_tiles import PlainTiles
from gemlite_edu.packing.plane_tiles import PlaneTiles

FP16, BF16, FP32 = torch.float16, torch.bfloat16, torch.float32
takes = GEMM_FAST.takes
small = partial(example, "gemm", N=24, K_and_group=(256, 64), word_bits=32)


@pytest.mark.parametrize("case", cases_of_a_layer(count=14), ids=str)
def test_every_mode_factor_and_term(case):
    inputs = make_case(case)
    assert takes(inputs.weight.layout, FP16, case.y_dtype, H200, inputs.weight.N)
    assert is_right(case, inputs, GEMM_FAST(inputs.x, inputs.weight, inputs.epilogue))


def test_no_rows_of_x_give_no_rows_of_y():
    inputs = make_case(small())
    y = GEMM_FAST(inputs.x[:0], inputs.weight, Epilogue(FP32))
    assert (tuple(y.shape), y.dtype) == ((0, 24), FP32)


REFUSED = {
    "3 bits as Triton has them": (PlaneTiles(3, 512), FP16, FP16, H200, 8),
    "short words": (PlaneTiles(4, 512, word_bits=16), FP16, FP16, H200, 8),
    "padded groups": (PlaneTiles(4, 960, 96), FP16, FP16, H200, 8),
    "short groups": (PlaneTiles(4, 512, 16), FP16, FP16, H200, 8),
    "part of a tile": (PlaneTiles(4, 192), FP16, FP16, H200, 8),
    "padded rows": (PlaneTiles(4, 192, 64), FP16, FP16, H200, 8),
    "long rows": (PlaneTiles(4, 2**26 + 128), FP16, FP16, H200, 8),
    "12 outputs": (PlaneTiles(4, 512), FP16, FP16, H200, 12),
    "weights that are numbers": (PlainTiles(torch.int8, 512), FP16, FP16, H200, 8),
    "bfloat16 x": (PlaneTiles(4, 512), BF16, FP16, H200, 8),
    "fp8 y": (PlaneTiles(4, 512), FP16, torch.float8_e4m3fn, H200, 8),
    "an older GPU": (PlaneTiles(4, 512), FP16, FP16, Machine((8, 9), 142), 8),
    "a newer GPU": (PlaneTiles(4, 512), FP16, FP16, Machine((10, 0), 148), 8),
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_take(arguments):
    assert not takes(*arguments)


def test_what_it_takes():
    of_planes = PlaneTiles(4, 1024), PlaneTiles(8, 512, 32), PlaneTiles(2, 512, 512)
    of_halves = PlaneTiles(1, 512, word_bits=16), PieceTiles(3, 512, 64), PieceTiles(7, 256)
    for layout in of_planes + of_halves:
        assert takes(layout, FP16, FP32, H200, 8)


@pytest.mark.parametrize(
    "changed, told",
    [
        (dict(x_dtype=BF16), "gemm_a16wn_fast does not take x torch.bfloat16"),
        (dict(N=20), "gemm_a16wn_fast does not take .* N = 20"),
        (dict(weights=3, word_bits=32), "gemm_a16wn_fast does not take .*nbits=3"),
        (dict(y_dtype=torch.int32), "gemm_a16wn_fast does not take .* y torch.int32"),
    ],
)
def test_a_call_beyond_it_says_so(changed, told):
    inputs = make_case(small(**changed))
    with pytest.raises(ValueError, match=told):
        GEMM_FAST(inputs.x, inputs.weight, inputs.epilogue)


@pytest.mark.parametrize("product", [GEMV_FAST, GEMM_FAST])
def test_a_type_that_no_text_takes_is_named(product):
    inputs = make_case(small())
    odd = replace(inputs.weight, scales=inputs.weight.scales.double())
    with pytest.raises(ValueError, match="^scales must be float16, bfloat16 or float32, got"):
        product(inputs.x, odd, Epilogue(FP32))
    with pytest.raises(ValueError, match="^bias must be float16, bfloat16 or float32, got"):
        product(inputs.x, inputs.weight, Epilogue(FP32, bias=torch.zeros(24).double()))


def test_another_x_is_named_in_one_sentence():
    inputs = make_case(small())
    for x in (inputs.x[:, :-1], inputs.x[0], inputs.x.to("meta")):
        with pytest.raises(ValueError, match=r"x must be \(M, 256\) on cpu, got"):
            GEMM_FAST(x, inputs.weight, inputs.epilogue)


def test_weights_on_meta_are_refused():
    inputs = make_case(small())
    weight = replace(inputs.weight, words=inputs.weight.words.to("meta"))
    with pytest.raises(ValueError, match="take CPU and CUDA tensors, got tensors on meta"):
        GEMM_FAST(inputs.x.to("meta"), weight, inputs.epilogue)
