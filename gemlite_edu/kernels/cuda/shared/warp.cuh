// Words shared by all kernels: a warp is 32 lanes that run together.
#pragma once

constexpr int WARP_SIZE = 32;
constexpr int MAX_THREADS_PER_BLOCK = 1024;
constexpr unsigned FULL_WARP = 0xFFFFFFFFu;

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
