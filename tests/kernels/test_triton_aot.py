"""Triton kernels compiled for GPUs that are not here: what they need of one, and their size.

Each variant is built with one kernel; tests/gpu/test_triton_builds_on_gpu.py builds it with all.
"""

import inspect
from dataclasses import replace
from itertools import cycle

import pytest
import torch
from ahead_of_time import build, build_int4, products_that_triton_makes_wrong
from triton_builds import (
    INT4_VARIANTS,
    OTHERS,
    SHARED_KIB,
    VARIANTS,
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

from gemlite_edu.kernels.triton import FOLDER, INT4_KERNELS, KERNELS
from gemlite_edu.runners.triton import kernel

EVERY_KERNEL = (*KERNELS, *OTHERS, *INT4_KERNELS, "dequantize_pairs")
MOST_ARGUMENTS, MOST_LINES = 12, 70
LONGER = {"gemv_revsplitk": 90}


@pytest.mark.parametrize(
    "name, variant",
    zip(cycle(KERNELS), VARIANTS),
    ids=lambda v: v if isinstance(v, str) else named(v),
)
def test_it_compiles_and_fits_the_gpu(name, variant, tmp_path):
    check_build(name, variant, tmp_path)


@pytest.mark.parametrize(
    "name, variant",
    zip(cycle((*INT4_KERNELS, "dequantize_pairs")), INT4_VARIANTS),
    ids=lambda v: v if isinstance(v, str) else int4_named(v),
)
def test_an_int4_kernel_compiles_and_fits_the_gpu(name, variant, tmp_path):
    check_int4_build(name, variant, tmp_path)


@pytest.mark.parametrize("capability", SHARED_KIB)
def test_the_kernel_that_adds_chunks_compiles_without_spilling(capability, tmp_path):
    check_other("add_chunks", 4, capability, tmp_path)


@pytest.mark.parametrize("weights, capability", zip((8, 4, 3, 2, 1), cycle(SHARED_KIB)))
def test_the_kernel_for_dense_weights_compiles_without_spilling(weights, capability, tmp_path):
    check_other("dequantize_weights", weights, capability, tmp_path)


def test_the_default_config_of_a_large_batch_fits_the_gpu():
    check_large_batch(80)


@pytest.mark.parametrize("name, mode", zip(KERNELS, cycle(("SHIFT", "FMA"))))
def test_other_modes_compile(name, mode):
    case = case_of(name, 80, 8, FP16, 32)
    build(replace(case, mode=type(case.mode)[mode], atomic=name != "gemm"), 80)


@pytest.mark.parametrize("name", ["gemm_splitk", "gemm"])
def test_sums_in_fp16_compile(name):
    compiled = build(replace(case_of(name, 80, 4, FP16, 32), dot_dtype=FP16), 80)
    assert "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16" in compiled.asm["ptx"]


@pytest.mark.parametrize(
    "name, weights, x_dtype, instruction",
    [
        ("gemm_splitk", 4, FP16, "f32.f16.f16.f32"),
        ("gemm", 4, BF16, "f32.bf16.bf16.f32"),
        ("gemm_splitk", INT8, INT8, "s32.s8.s8.s32"),
    ],
)
def test_products_are_made_on_tensor_cores(name, weights, x_dtype, instruction):
    check_tensor_cores(name, weights, x_dtype, instruction)


@pytest.mark.parametrize("name", EVERY_KERNEL)
def test_a_kernel_takes_few_arguments(name):
    parameters = inspect.signature(kernel(name, interpreted=False).fn).parameters.values()
    at_run_time = [p.name for p in parameters if "constexpr" not in str(p.annotation)]
    assert len(at_run_time) <= MOST_ARGUMENTS


@pytest.mark.parametrize("name", EVERY_KERNEL)
def test_the_file_of_a_kernel_is_short(name):
    lines = (FOLDER / f"{name}.py").read_text().splitlines()
    assert len(lines) <= LONGER.get(name, MOST_LINES)


@pytest.mark.parametrize("codes_dtype", [torch.uint8, torch.int8])
@pytest.mark.parametrize("name", INT4_KERNELS)
def test_the_smallest_blocks_are_right_where_they_are_allowed_and_noticed_where_not(
    name, codes_dtype
):
    """On an H200 a forward product in blocks of 16 columns was wrong."""
    problem = (80, FP16, codes_dtype, FP16, 128, FP32)
    smallest = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32, "num_warps": 4, "num_stages": 3}
    assert not products_that_triton_makes_wrong(build_int4(name, smallest, *problem))
    too_small = build_int4(name, smallest | {"BLOCK_K": 16}, *problem)
    assert bool(products_that_triton_makes_wrong(too_small)) == (name == "mixed_mm")


@pytest.mark.parametrize(
    "name, a_dtype, of_sums",
    [("mixed_mm", FP16, "f16.f16.f16.f16"), ("mixed_mm_transposed", BF16, "f32.bf16.bf16")],
)
def test_int4_sums_in_fp16_compile_where_tensor_cores_have_them(name, a_dtype, of_sums):
    check_int4_sums_in_fp16(name, a_dtype, of_sums)
