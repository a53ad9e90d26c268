"""What the kernels are built for without a GPU, and what each build is held to."""

import re
import subprocess

import pytest
import torch
from ahead_of_time import build, build_int4, products_that_triton_makes_wrong, shared_bytes
from triton_cases import BF16, E4M3, E5M2, FP16, FP32, INT8, example, plain_example

from gemlite_edu.kernels.triton import mixed_mm_configs
from gemlite_edu.kernels.triton.configs import default_config

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


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
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


def check_build(name, variant, folder):
    """It compiles, fits the GPU, keeps its numbers in registers, and is made right by Triton."""
    capability, weights = variant[:2]
    compiled = build(case_of(name, *variant), capability)
    assert compiled.metadata.shared <= SHARED_KIB[capability] * 1024
    assert not products_that_triton_makes_wrong(compiled)
    if capability >= 80:
        most = SPILLED.get((name, capability, weights), 0)
        assert bytes_spilled(compiled, folder) <= most


def check_other(name, weights, capability, folder):
    """The same for a kernel of `OTHERS`, which needs no shared memory."""
    compiled = build(case_of("gemm_splitk", capability, weights, FP16, 16), capability, name)
    assert bytes_spilled(compiled, folder) == 0


def check_int4_build(name, variant, folder):
    """The same for an int4 kernel, which also multiplies on tensor cores."""
    capability, a_dtype, *types, group_size = variant
    config = int4_config(name, group_size)
    compiled = build_int4(name, config, capability, a_dtype, *types, group_size, FP32)
    assert compiled.metadata.shared <= SHARED_KIB[capability] * 1024
    assert not products_that_triton_makes_wrong(compiled)
    assert capability < 80 or bytes_spilled(compiled, folder) == 0
    if capability >= 80 and name != "dequantize_pairs":
        instruction = {80: r"mma\.sync", 90: r"wgmma\.mma_async"}[capability]
        types_of_sum = {FP16: r"f32\.f16\.f16", BF16: r"f32\.bf16\.bf16"}[a_dtype]
        assert re.search(rf"{instruction}\S*{types_of_sum}", compiled.asm["ptx"])


def check_tensor_cores(name, weights, x_dtype, instruction):
    """A GEMM multiplies with this instruction of tensor cores."""
    compiled = build(case_of(name, 80, weights, x_dtype, 32), 80)
    assert re.search(rf"mma\.sync\S*{re.escape(instruction)}", compiled.asm["ptx"])


def check_int4_sums_in_fp16(name, a_dtype, of_sums):
    """An int4 kernel that is to add in fp16 does so where tensor cores can."""
    config = int4_config(name, 128)
    compiled = build_int4(name, config, 80, a_dtype, torch.uint8, FP16, 128, FP16)
    assert re.search(rf"mma\.sync\S*{re.escape(of_sums)}", compiled.asm["ptx"])


def check_large_batch(capability):
    """The default config for 128 rows of x fits the GPU."""
    case = case_of("gemm_splitk", capability, 1, FP16, 16, M=128)
    assert shared_bytes(case, capability) <= SHARED_KIB[capability] * 1024
