"""The GEMV at the memory limit for weights of a layer: every mode, factor and term, exact."""

from dataclasses import replace

import pytest
import torch
from fast_cases import BF16, FP16, cases_of_a_layer
from triton_cases import E4M3, FP32, INT8, example, is_right, make_case

from gemlite_edu import quantize_linear
from gemlite_edu.kernels.fast_weights import Types
from gemlite_edu.kernels.machine import H200, TURING, Machine
from gemlite_edu.operators import cuda_product as module
from gemlite_edu.operators.cuda_product import GEMV_FAST
from gemlite_edu.operators.triton_product import Epilogue
from gemlite_edu.operators.weight import PackedWeight
from gemlite_edu.packing.plain_tiles import PlainTiles
from gemlite_edu.packing.plane_tiles import PlaneTiles

takes = GEMV_FAST.takes
VOLTA, OLDEST = Machine((7, 0), 80), Machine(TURING, 40)


@pytest.mark.parametrize("case", cases_of_a_layer(count=16), ids=str)
def test_every_mode_factor_and_term(case):
    inputs = make_case(case)
    assert takes(inputs.weight.layout, case.x_dtype, case.y_dtype, H200, inputs.weight.N)
    assert is_right(case, inputs, GEMV_FAST(inputs.x, inputs.weight, inputs.epilogue))


def test_scales_and_zeros_may_have_unlike_types():
    case = example("gemv", N=20, K_and_group=(256, 64))
    inputs = make_case(case)
    weight = replace(inputs.weight, scales=inputs.weight.scales.bfloat16())
    assert weight.zeros.dtype == FP32
    assert is_right(case, inputs, GEMV_FAST(inputs.x, weight, inputs.epilogue))


def test_no_rows_of_x_give_no_rows_of_y():
    inputs = make_case(example("gemv", N=20, K_and_group=(256, 64)))
    y = GEMV_FAST(inputs.x[:0], inputs.weight, Epilogue(FP32))
    assert (tuple(y.shape), y.dtype) == ((0, 20), FP32)


def test_a_call_looks_nothing_up_twice(monkeypatch):
    inputs = make_case(example("gemv", N=20, K_and_group=(256, 64)))
    y = GEMV_FAST(inputs.x, inputs.weight, inputs.epilogue)
    monkeypatch.delattr(module, "machine_of")
    monkeypatch.delattr(module, "Program")
    assert torch.equal(GEMV_FAST(inputs.x, inputs.weight, inputs.epilogue), y)


REFUSED = {
    "3 bits": (PlaneTiles(3, 512), FP16, FP16, H200),
    "short words": (PlaneTiles(4, 512, word_bits=16), FP16, FP16, H200),
    "padded groups": (PlaneTiles(4, 960, 96), FP16, FP16, H200),
    "short groups": (PlaneTiles(4, 512, 8), FP16, FP16, H200),
    "weights that are numbers": (PlainTiles(INT8, 512), FP16, FP16, H200),
    "fp8 x": (PlaneTiles(4, 512), E4M3, FP16, H200),
    "fp8 y": (PlaneTiles(4, 512), FP16, E4M3, H200),
    "an older GPU": (PlaneTiles(4, 512), FP16, FP16, VOLTA),
    "more x than a block holds": (PlaneTiles(4, 2**17), FP16, FP16, H200),
}


@pytest.mark.parametrize("layout, x_dtype, y_dtype, machine", REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_take(layout, x_dtype, y_dtype, machine):
    assert not takes(layout, x_dtype, y_dtype, machine, 1)


def test_what_it_takes():
    for layout in (PlaneTiles(4, 1000), PlaneTiles(8, 512, 16), PlaneTiles(1, 512, 512, 16)):
        assert takes(layout, BF16, FP32, OLDEST, 1)


def test_groups_of_16_are_multiplied():
    inputs = make_case(case := example("gemv", N=20, K_and_group=(256, 16)))
    assert is_right(case, inputs, GEMV_FAST(inputs.x, inputs.weight, inputs.epilogue))


@pytest.mark.parametrize(
    "changed, told",
    [
        (dict(K_and_group=(960, 96)), "gemv_a16wn_fast does not take x torch.float16, y"),
        (dict(x_dtype=E4M3), "does not take x torch.float8_e4m3fn"),
    ],
)
def test_a_call_beyond_it_says_so(changed, told):
    inputs = make_case(example("gemv", N=20, **dict(K_and_group=(256, 64)) | changed))
    with pytest.raises(ValueError, match=told):
        GEMV_FAST(inputs.x, inputs.weight, inputs.epilogue)


def test_another_x_is_named_in_one_sentence():
    inputs = make_case(example("gemv", N=20, K_and_group=(256, 64)))
    for x in (inputs.x[:, :-1], inputs.x[0], inputs.x.to("meta")):
        with pytest.raises(ValueError, match=r"x must be \(M, 256\) on cpu, got"):
            GEMV_FAST(x, inputs.weight, inputs.epilogue)


def test_weights_on_meta_are_refused():
    inputs = make_case(example("gemv", N=20, K_and_group=(256, 64)))
    weight = replace(inputs.weight, words=inputs.weight.words.to("meta"))
    with pytest.raises(ValueError, match="take CPU and CUDA tensors, got tensors on meta"):
        GEMV_FAST(inputs.x.to("meta"), weight, inputs.epilogue)


def test_x_of_three_dimensions_is_padded_along_K():
    weight = PackedWeight.from_quantized(quantize_linear(torch.ones(2, 100), 4))
    types = Types(FP16, FP32, weight.scales.dtype, weight.zeros.dtype)
    x = torch.ones(2, 3, 100, dtype=FP16)
    product = GEMV_FAST.prepared(x.shape, 2, types, weight.layout, weight.mode, x.device)
    y = product(x, *(weight.words, weight.scales, weight.zeros), None, None, None, None)
    torch.testing.assert_close(y, torch.full((2, 3, 2), 100.0))
