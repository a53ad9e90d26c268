"""Every Triton kernel compiled for GPUs that are not here: what it needs of one, and its size."""

import inspect
import re
import subprocess
from dataclasses import replace

import pytest
import torch
from ahead_of_time import build, build_int4, products_that_triton_makes_wrong, shared_bytes
from triton_cases import (
    BF16,
    E4M3,
    E5M2,
    FP16,
    FP32,
    INT8,
    example,
    plain_example,
)

from gemlite_edu.kernels.triton import FOLDER, INT4_KERNELS, KERNELS, mixed_mm_configs
from gemlite_edu.kernels.triton.configs import default_config
from gemlite_edu.runners.triton import kernel

# Compute capability, weights, type of x, bits of a word. sm_75 has no bf16, only sm_90 has e4m3.
VARIANTS = [
    (90, 4, FP16, 32),
    (90, 4, BF16, 32),
    (90, 3, FP16, 16),
    (90, 2, INT8, 16),
    (90, 1, BF16, 8),
    (90, INT8, INT8, None),
    (90, E4M3, E4M3, None),
    (90, E5M2, FP16, None),
    (90, BF16, BF16, None),
    (80, 8, INT8, 32),
    (80, 4, FP16, 32),
    (80, 4, BF16, 32),
    (80, 3, BF16, 16),
    (80, 1, FP16, 8),
    (80, INT8, INT8, None),
    (80, FP16, FP16, None),
    (75, 8, INT8, 32),
    (75, 4, FP16, 32),
    (75, FP16, FP16, None),
    (75, INT8, INT8, None),
]
# Bytes a thread keeps in memory for want of registers; all other variants from sm_80 on: none.
SPILLED = {("gemm_splitk", 90, 1): 24, ("gemv", 90, INT8): 8}
SHARED_KIB = {75: 48, 80: 99, 90: 227}  # 80: of sm_86 and sm_89, the smallest of their generation
OTHERS = ("add_chunks", "dequantize_weights")
EVERY_KERNEL = (*KERNELS, *OTHERS, *INT4_KERNELS, "dequantize_pairs")
# Capability, type of a, of the bytes, of scales, group size: one that pieces fill, and two not.
INT4_VARIANTS = [
    (90, FP16, torch.uint8, FP32, 128),
    (90, BF16, torch.int8, BF16, 128),
    (90, FP16, torch.int8, FP16, 33),
    (80, FP16, torch.uint8, FP16, 128),
    (80, BF16, torch.int8, FP32, 48),
    (75, FP16, torch.uint8, FP16, 128),
    (75, FP16, torch.int8, FP32, 1),
]
MOST_SPILLED_OF_INT4 = 8
MOST_ARGUMENTS, MOST_LINES = 12, 70
LONGER = {"gemv_revsplitk": 90}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Nothing is found that was compiled before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield


def case_of(name, capability, weights, x_dtype, word_bits, M=None):
    """A case with the default config for a layer of 4096 x 4096."""
    M = M or {"gemm_splitk": 16, "gemm": 128}.get(name, 1)
    config = default_config(name, M, 4096, interpreted=False)
    programs = config["BLOCK_N"], config["num_warps"], config["num_stages"]
    changes = dict(
        weights=weights, x_dtype=x_dtype, M=M, N=4096, chunks=config["chunks"],
        block_m=config["BLOCK_M"], block_n_warps_stages=programs,
    )  # fmt: skip
    if isinstance(weights, int):
        return example(name, word_bits=word_bits, K_and_group=(4096, 128), **changes)
    return plain_example(name, K_and_group=(4096, None), **changes)


def named(variant):
    capability, weights, x_dtype, _ = variant
    return f"sm_{capability}-w{weights}-x{x_dtype}".replace("torch.", "")


def bytes_spilled(compiled, folder):
    """Bytes of the stack that a thread needs, as the assembler says."""
    from triton import knobs

    path = folder / "kernel.cubin"
    path.write_bytes(compiled.asm["cubin"])
    command = [knobs.nvidia.cuobjdump.path, "--dump-resource-usage", str(path)]
    usage = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"STACK:(\d+)", usage)[1])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_it_compiles_and_fits_the_gpu(variant, name, tmp_path):
    capability, weights = variant[:2]
    compiled = build(case_of(name, *variant), capability)
    assert compiled.metadata.shared <= SHARED_KIB[capability] * 1024
    assert not products_that_triton_makes_wrong(compiled)
    if capability >= 80:
        most = SPILLED.get((name, capability, weights), 0)
        assert bytes_spilled(compiled, tmp_path) <= most


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("capability", SHARED_KIB)
@pytest.mark.parametrize("weights", [8, 4, 3, 2, 1])
def test_the_kernels_beside_them_compile_without_spilling(name, weights, capability, tmp_path):
    compiled = build(case_of("gemm_splitk", capability, weights, FP16, 16), capability, name)
    assert bytes_spilled(compiled, tmp_path) == 0


@pytest.mark.parametrize("capability", [75, 80])
def test_the_default_config_of_a_large_batch_fits_the_gpu(capability):
    case = case_of("gemm_splitk", capability, 1, FP16, 16, M=128)
    assert shared_bytes(case, capability) <= SHARED_KIB[capability] * 1024


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("mode", ["SHIFT", "FMA"])
def test_other_modes_compile(name, mode):
    case = case_of(name, 80, 8, FP16, 32)
    build(replace(case, mode=type(case.mode)[mode], atomic=name != "gemm"), 80)


@pytest.mark.parametrize("name", ["gemm_splitk", "gemm"])
def test_sums_in_fp16_compile(name):
    compiled = build(replace(case_of(name, 80, 4, FP16, 32), dot_dtype=FP16), 80)
    assert "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16" in compiled.asm["ptx"]


@pytest.mark.parametrize("name", ["gemm_splitk", "gemm"])
@pytest.mark.parametrize(
    "weights, x_dtype, instruction",
    [(4, FP16, "f32.f16.f16.f32"), (4, BF16, "f32.bf16.bf16.f32"), (INT8, INT8, "s32.s8.s8.s32")],
)
def test_products_are_made_on_tensor_cores(name, weights, x_dtype, instruction):
    compiled = build(case_of(name, 80, weights, x_dtype, 32), 80)
    assert re.search(rf"mma\.sync\S*{re.escape(instruction)}", compiled.asm["ptx"])


@pytest.mark.parametrize("name", EVERY_KERNEL)
def test_a_kernel_takes_few_arguments(name):
    parameters = inspect.signature(kernel(name, interpreted=False).fn).parameters.values()
    at_run_time = [p.name for p in parameters if "constexpr" not in str(p.annotation)]
    assert len(at_run_time) <= MOST_ARGUMENTS


@pytest.mark.parametrize("name", EVERY_KERNEL)
def test_the_file_of_a_kernel_is_short(name):
    lines = (FOLDER / f"{name}.py").read_text().splitlines()
    assert len(lines) <= LONGER.get(name, MOST_LINES)


def int4_config(name, group_size, M=64):
    """The default config for a layer of about 4096 x 4096; dense weights have one that is fixed."""
    if name == "dequantize_pairs":
        block_k = mixed_mm_configs.block_k(group_size)
        return {"BLOCK_N": 32, "BLOCK_K": block_k, "num_warps": 4, "num_stages": 3}
    problem = (M, 4096, 4096, group_size, name == "mixed_mm_transposed")
    return mixed_mm_configs.default_config(*problem, interpreted=False)


def int4_named(variant):
    capability, a, codes, scales, group_size = variant
    text = f"sm_{capability}-a {a}-codes {codes}-scales {scales}-group {group_size}"
    return text.replace("torch.", "")


@pytest.mark.parametrize("variant", INT4_VARIANTS, ids=int4_named)
@pytest.mark.parametrize("name", [*INT4_KERNELS, "dequantize_pairs"])
def test_an_int4_kernel_compiles_and_fits_the_gpu(name, variant, tmp_path):
    capability, *types, group_size = variant
    compiled = build_int4(name, int4_config(name, group_size), capability, *types, group_size, FP32)
    assert compiled.metadata.shared <= SHARED_KIB[capability] * 1024
    assert not products_that_triton_makes_wrong(compiled)
    assert capability < 80 or bytes_spilled(compiled, tmp_path) == 0


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


@pytest.mark.parametrize("a_dtype, of_sums", [(FP16, "f16.f16.f16.f16"), (BF16, "f32.bf16.bf16")])
@pytest.mark.parametrize("name", INT4_KERNELS)
def test_int4_sums_in_fp16_compile_where_tensor_cores_have_them(name, a_dtype, of_sums):
    config = int4_config(name, 128)
    compiled = build_int4(name, config, 80, a_dtype, torch.uint8, FP16, 128, FP16)
    assert re.search(rf"mma\.sync\S*{re.escape(of_sums)}", compiled.asm["ptx"])


@pytest.mark.parametrize("variant", [v for v in INT4_VARIANTS if v[0] >= 80], ids=int4_named)
@pytest.mark.parametrize("name", INT4_KERNELS)
def test_int4_products_are_made_on_tensor_cores(name, variant):
    """Asked of the variants above, so that Triton's cache holds the builds."""
    capability, a_dtype, *types, group_size = variant
    config = int4_config(name, group_size)
    compiled = build_int4(name, config, capability, a_dtype, *types, group_size, FP32)
    instruction = {80: r"mma\.sync", 90: r"wgmma\.mma_async"}[capability]
    types_of_sum = {FP16: r"f32\.f16\.f16", BF16: r"f32\.bf16\.bf16"}[a_dtype]
    assert re.search(rf"{instruction}\S*{types_of_sum}", compiled.asm["ptx"])


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
