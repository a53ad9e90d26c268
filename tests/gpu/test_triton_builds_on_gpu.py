"""Every Triton kernel built in every variant, also for GPUs that are not here.

It needs many cores rather than a GPU; tests/kernels/test_triton_aot.py has a part of it.
"""

from dataclasses import replace

import pytest
import torch
from ahead_of_time import build, build_int4, products_that_triton_makes_wrong
from triton_builds import (
    INT4_VARIANTS,
    OTHERS,
    SHARED_KIB,
    VARIANTS,
    bytes_spilled,
    case_of,
    check_build,
    check_int4_build,
    check_int4_sums_in_fp16,
    check_large_batch,
    check_other,
    check_tensor_cores,
    int4_named,
    named,
    own_cache,  # noqa: F401
)
from triton_cases import BF16, FP16, FP32, INT8

from gemlite_edu.kernels.triton import INT4_KERNELS, KERNELS, mixed_mm_configs

MOST_SPILLED_OF_INT4 = 8


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_it_compiles_and_fits_the_gpu(variant, name, tmp_path):
    check_build(name, variant, tmp_path)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("capability", SHARED_KIB)
@pytest.mark.parametrize("weights", [8, 4, 3, 2, 1])
def test_the_kernels_beside_them_compile_without_spilling(name, weights, capability, tmp_path):
    check_other(name, weights, capability, tmp_path)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("mode", ["SHIFT", "FMA"])
def test_other_modes_compile(name, mode):
    case = case_of(name, 80, 8, FP16, 32)
    build(replace(case, mode=type(case.mode)[mode], atomic=name != "gemm"), 80)


@pytest.mark.parametrize("variant", INT4_VARIANTS, ids=int4_named)
@pytest.mark.parametrize("name", [*INT4_KERNELS, "dequantize_pairs"])
def test_an_int4_kernel_compiles_and_fits_the_gpu(name, variant, tmp_path):
    check_int4_build(name, variant, tmp_path)


@pytest.mark.parametrize("name", ["gemm_splitk", "gemm"])
@pytest.mark.parametrize(
    "weights, x_dtype, instruction",
    [(4, FP16, "f32.f16.f16.f32"), (4, BF16, "f32.bf16.bf16.f32"), (INT8, INT8, "s32.s8.s8.s32")],
)
def test_products_are_made_on_tensor_cores(name, weights, x_dtype, instruction):
    check_tensor_cores(name, weights, x_dtype, instruction)


@pytest.mark.parametrize("a_dtype, of_sums", [(FP16, "f16.f16.f16.f16"), (BF16, "f32.bf16.bf16")])
@pytest.mark.parametrize("name", INT4_KERNELS)
def test_int4_sums_in_fp16_compile_where_tensor_cores_have_them(name, a_dtype, of_sums):
    check_int4_sums_in_fp16(name, a_dtype, of_sums)


@pytest.mark.parametrize("capability", [75, 80])
def test_the_default_config_of_a_large_batch_fits_the_gpu(capability):
    check_large_batch(capability)


@pytest.mark.parametrize("few_rows", [False, True])
@pytest.mark.parametrize("name", INT4_KERNELS)
def test_every_config_that_an_h200_is_to_try_fits_it(name, few_rows, tmp_path):
    tried = {}
    for M in (16, 32, 64, 1024):
        problem = (M, 4096, 4096, 128, name == "mixed_mm_transposed", few_rows)
        for config in mixed_mm_configs.candidates(*problem):
            tried[tuple(config[key] for key in config if key != "chunks")] = config
    for config in tried.values():
        compiled = build_int4(name, config, 90, FP16, torch.uint8, FP16, 128, FP32)
        assert compiled.metadata.shared <= SHARED_KIB[90] * 1024, config
        assert not products_that_triton_makes_wrong(compiled), config
        assert bytes_spilled(compiled, tmp_path) <= MOST_SPILLED_OF_INT4, config
