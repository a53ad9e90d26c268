"""CUDA's intrinsics in the shim, one value or more of each."""

import pytest
import torch

from gemlite_edu.kernels.errors import KernelTextError


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("__float_as_uint(1.0f) == 0x3F800000u", 1),
        ("__float_as_int(-0.0f) == INT32_MIN", 1),
        ("__float_as_uint(in[0] * INFINITY * 0.0f) == 0x7FFFFFFFu", 1),
        ("__uint_as_float(0x40490FDBu) > 3.14159f", 1),
        ("__int_as_float(0x3F800000) == 1.0f", 1),
        ("__fmaf_rn(1e8f, 1e8f, -1e16f) == fmaf(1e8f, 1e8f, -1e16f)", 1),
        ("__popc(0xF0F0u)", 8),
        ("__byte_perm(0x33221100, 0x77665544, 0x7520) == 0x77552200", 1),
        ("__funnelshift_r(0x89ABCDEF, 0x01234567, 8) == 0x6789ABCD", 1),
        ("__funnelshift_l(0x89ABCDEF, 0x01234567, 8) == 0x23456789", 1),
        ("__funnelshift_r(0x89ABCDEF, 0x01234567, 32) == 0x89ABCDEF", 1),
        ("min(3, 2) + max(3, 2)", 5),
        ("min(7u, 15) + max(1, 2u)", 9),
        ("__clz(1) + __clz(0) + __clz(-1)", 63),
        ("__dp4a(0x01FF0203, 0x04050607, 100)", 100 + 4 - 5 + 12 + 21),
        ("__dp4a(int(0x80808080), 0x7F7F7F7F, 1)", 1 - 4 * 128 * 127),
        ("__dp4a(0x01FF0203u, 0x04050607u, 100u)", 100 + 4 + 5 * 255 + 12 + 21),
        ("__dp4a(make_char4(1, -1, 2, 3), make_char4(4, 5, 6, 7), 100)", 100 + 4 - 5 + 12 + 21),
        ("__dp4a(make_uchar4(1, 255, 2, 3), make_uchar4(4, 5, 6, 7), 1u)", 1 + 4 + 1275 + 33),
        ("__ldg(in + 2)", 30),
        ("reinterpret_cast<const int4*>(in)->w", 40),
        ("reinterpret_cast<const uint2*>(in)[1].x", 30),
        ("reinterpret_cast<const uchar4*>(in)->x", 10),
        ("sizeof(float2) + sizeof(float4) + alignof(uint4)", 40),
        ("warpSize", 32),
    ],
)
def test_it_computes_what_cuda_defines(launch, expression, expected):
    text = f"__global__ void kernel(const int* in, int* out) {{ out[0] = {expression}; }}"
    values = torch.tensor([10, 20, 30, 40], dtype=torch.int32)
    out = launch(text, {"out": torch.zeros(1, dtype=torch.int32)}, {"in": values})
    assert out.item() == expected


def test_signed_and_unsigned_bytes_do_not_mix_in_dp4a(launch):
    text = "__global__ void kernel(int* out) { out[0] = __dp4a(1u, 1, 1); }"
    with pytest.raises(KernelTextError, match="ambiguous"):
        launch(text, {"out": torch.zeros(1, dtype=torch.int32)})


def test_an_address_in_shared_memory_has_32_bits(launch):
    text = """
    __global__ void kernel(const int* in, int* out) {
      __shared__ int numbers[4];
      numbers[threadIdx.x] = in[threadIdx.x];
      __syncthreads();
      const uint32_t at = __cvta_generic_to_shared(&numbers[3]) - 4 * threadIdx.x;
      out[threadIdx.x] = *static_cast<const int*>(__cvta_shared_to_generic(at));
    }"""
    values = torch.tensor([10, 20, 30, 40], dtype=torch.int32)
    out = torch.zeros(4, dtype=torch.int32)
    assert launch(text, {"out": out}, {"in": values}, threads=4).tolist() == [40, 30, 20, 10]
