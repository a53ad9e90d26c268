// 16-bit activations in, fp32 arithmetic, 16-bit results out. X_T is half or __nv_bfloat16.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using SUM_T = float;
using Y_T = X_T;

__device__ inline float to_float(half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
