"""Correct kernels, written as CUDA kernels are: no finding, and the right y."""

import pytest
import torch

X = torch.arange(1.0, 65)
T = torch.arange(64)
LOADED = "__shared__ float a[64]; a[t] = x[t]; __syncthreads();\n"


CORRECT = {
    "exchange with __syncwarp": (
        "__shared__ float a[64]; a[t] = x[t]; __syncwarp(); y[t] = a[t ^ 1];",
        X[T ^ 1],
    ),
    "exchange with __syncwarp of the half warps": (
        "__shared__ float a[64]; a[t] = x[t];\n"
        "__syncwarp(t % 32 < 16 ? 0xFFFFu : 0xFFFF0000u);\ny[t] = a[t ^ 8];",
        X[T ^ 8],
    ),
    "read, __syncwarp, write": (
        LOADED + "float v = a[t ^ 1]; __syncwarp(); a[t] = v; __syncwarp(); y[t] = a[t ^ 2];",
        X[T ^ 3],
    ),
    "one lane writes for its warp": (
        "__shared__ float a[2]; if (t % 32 == 5) a[t / 32] = x[t]; __syncwarp(); y[t] = a[t / 32];",
        X[T // 32 * 32 + 5],
    ),
    "__syncwarp in a branch of one warp": (
        LOADED + "y[t] = 0; if (t < 32) {\nfor (int s = 16; s > 0; s /= 2) {\n"
        "float v = a[t] + a[t + s]; __syncwarp(); a[t] = v; __syncwarp();\n}\n"
        "if (t == 0) y[0] = a[0];\n}",
        torch.where(T == 0, X[:32].sum(), 0),
    ),
    "__syncwarp after lanes returned": (
        "__shared__ float a[64]; if (t % 32 >= 20) { y[t] = 0; return; }\n"
        "a[t] = x[t]; __syncwarp(); y[t] = a[t ^ 1];",
        torch.where(T % 32 < 20, X[T ^ 1], 0),
    ),
    "__syncwarp in a last warp of eight lanes": (
        "__shared__ float a[40]; a[t] = x[t]; __syncwarp(); y[t] = a[t ^ 1];",
        X[T[:40] ^ 1],
        {"threads": 40},
    ),
    "shuffle from lane 0 in a last warp of eight lanes": (
        "y[t] = __shfl_sync(0xFFFFFFFFu, x[t], 0);",
        torch.where(T[:40] < 32, X[0], X[32]),
        {"threads": 40},
    ),
    "two buffers, one barrier per stage": (
        "__shared__ float a[2][64]; float sum = 0; a[0][t] = x[t];\n"
        "for (int i = 0; i < 4; ++i) {\n__syncthreads(); sum += a[i % 2][63 - t];\n"
        "if (i < 3) a[(i + 1) % 2][t] = x[t] * (i + 2);\n}\ny[t] = sum;",
        10 * X.flip(0),
    ),
    "all read one element, barrier, one writes it": (
        LOADED + "float v = a[7]; __syncthreads(); if (t == 9) a[7] = -1;\n"
        "__syncthreads(); y[t] = v + a[7];",
        torch.full((64,), 7.0),
    ),
    "stencil": (
        "__shared__ float a[66]; a[t + 1] = x[t]; if (t < 2) a[65 * t] = 0; __syncthreads();\n"
        "y[t] = a[t] + a[t + 1] + a[t + 2];",
        torch.nn.functional.pad(X, (1, 1)).unfold(0, 3, 1).sum(1),
    ),
    "guarded tail": ("if (t < n) y[t] = 2 * x[t];", 2 * X[:50], {"n": 50, "x": X[:50].clone()}),
    "guarded tails in two dimensions": (
        "__shared__ float a[64]; const int i = 64 * blockIdx.x + t, row = blockIdx.y;\n"
        "a[t] = i < n ? x[row * n + i] : 0; __syncthreads();\n"
        "if (i < n) y[row * n + i] = a[t] + a[t ^ 1];",
        torch.arange(350.0).reshape(-1, 2).sum(1).repeat_interleave(2),
        {"n": 70, "x": torch.arange(350.0), "grid": (2, 5)},
    ),
    "grid stride loop": (
        "for (int i = 64 * blockIdx.x + t; i < n; i += 64 * gridDim.x) y[i] = x[i] + 1;",
        torch.arange(500.0) + 1,
        {"n": 500, "x": torch.arange(500.0), "grid": (3, 1)},
    ),
    "whole warps return before a barrier": (
        "__shared__ float a[32]; if (t >= 32) return;\n"
        "a[t] = x[t]; __syncthreads(); y[t] = a[31 - t];",
        X[:32].flip(0),
    ),
    "part of a warp returns, no barrier after": (
        "y[t] = x[t]; if (t >= 40) return; y[t] = -x[t];",
        torch.where(T < 40, -X, X),
    ),
    "reduction of the block": (
        LOADED + "for (int s = 32; s > 0; s /= 2) {\nif (t < s) a[t] += a[t + s];\n"
        "__syncthreads();\n}\nif (t == 0) y[0] = a[0];",
        X.sum().reshape(1),
    ),
    "reduction of a warp with shuffles": (
        "float v = x[t]; for (int s = 16; s > 0; s /= 2)\n"
        "v += __shfl_xor_sync(0xFFFFFFFFu, v, s);\ny[t] = v;",
        X.reshape(2, 32).sum(1).repeat_interleave(32),
    ),
    "reduction of the warps, then of the block": (
        "__shared__ float a[2]; float v = x[t];\n"
        "for (int s = 16; s > 0; s /= 2) v += __shfl_down_sync(0xFFFFFFFFu, v, s);\n"
        "if (t % 32 == 0) a[t / 32] = v;\n__syncthreads(); if (t == 0) y[0] = a[0] + a[1];",
        X.sum().reshape(1),
    ),
    "shuffle of the lanes that voted": (
        "y[t] = 0; const unsigned mask = __ballot_sync(0xFFFFFFFFu, t % 3 == 0);\n"
        "if (t % 3 == 0) y[t] = __shfl_sync(mask, x[t], __popc((mask & -mask) - 1));",
        torch.where(T % 3 == 0, torch.where(T < 32, X[0], X[33]), 0),
    ),
    "half warps shuffle by themselves": (
        "if (t % 32 < 16) y[t] = __shfl_xor_sync(0xFFFFu, x[t], 3);\n"
        "else y[t] = __shfl_xor_sync(0xFFFF0000u, x[t], 5);",
        torch.where(T % 32 < 16, X[T ^ 3], X[T ^ 5]),
    ),
    "histogram, bins of each thread": (
        "__shared__ int h[64 * 4]; for (int b = 0; b < 4; ++b) h[4 * t + b] = 0;\n"
        "for (int i = t; i < n; i += 64) ++h[4 * t + x[i]];\n__syncthreads();\n"
        "if (t < 4) {\nint sum = 0;\n"
        "for (int i = 0; i < 64; ++i) sum += h[4 * i + t];\ny[t] = sum;\n}",
        torch.bincount(torch.arange(300) ** 2 % 17 % 4).int(),
        {"n": 300, "x": (torch.arange(300) ** 2 % 17 % 4).int()},
    ),
    "transpose through a padded tile": (
        "__shared__ float a[8][9]; a[t / 8][t % 8] = x[t]; __syncthreads();\n"
        "y[t] = a[t % 8][t / 8];",
        X.reshape(8, 8).T.flatten(),
    ),
    "prefix sum": (
        LOADED + "for (int s = 1; s < 64; s *= 2) {\nfloat v = t >= s ? a[t - s] : 0;\n"
        "__syncthreads(); a[t] += v; __syncthreads();\n}\ny[t] = a[t];",
        X.cumsum(0),
    ),
    "an array used again after a barrier": (
        "__shared__ float a[64]; float sum = 0;\nfor (int i = 0; i < 3; ++i) {\n"
        "a[t] = x[t] + i; __syncthreads(); sum += a[63 - t]; __syncthreads();\n}\ny[t] = sum;",
        3 * X.flip(0) + 3,
    ),
    "vectors in shared memory": (
        "__shared__ float4 v[16]; if (t < 16) v[t] = ((const float4*)x)[15 - t]; __syncthreads();\n"
        "y[t] = ((float*)v)[t]; __syncthreads();\n"
        "if (t < 16) { float4 w = v[t]; y[4 * t] = w.x + w.y + w.z + w.w; }",
        torch.where(
            T % 4 == 0,
            X.reshape(16, 4).flip(0).sum(1)[T // 4],
            X.reshape(16, 4).flip(0).flatten(),
        ),
    ),
    "vectors to the output": (
        "if (t < 16) ((float4*)y)[t] = ((const float4*)x)[15 - t];",
        X.reshape(16, 4).flip(0).flatten(),
    ),
    "output written twice by one thread": ("y[t] = 0; if (t % 2) y[t] = x[t];", X * (T % 2)),
    "output written by two threads with a barrier between": (
        "y[t] = 0; __syncthreads(); y[63 - t] = x[t];",
        X.flip(0),
    ),
    "output written by two lanes with __syncwarp between": (
        "y[t] = 0; __syncwarp(); y[t ^ 1] = x[t];",
        X[T ^ 1],
    ),
    "output of another thread read after a barrier": (
        "y[t] = x[t]; __syncthreads(); float v = y[63 - t]; __syncthreads(); y[t] = v;",
        X.flip(0),
    ),
    "own output read back": (
        "y[t] = x[t]; for (int i = 0; i < n % 60; ++i) y[t] += i;",
        X + 6,
    ),
    "bytes of a word written by four lanes": (
        "__shared__ unsigned char a[64]; a[t] = x[t]; __syncthreads(); y[t] = a[63 - t];",
        T.flip(0).byte(),
        {"x": T.byte()},
    ),
    "halves": (
        "__shared__ half a[64]; a[t] = x[t]; __syncthreads(); y[t] = a[t ^ 1] * a[t];",
        (X[T ^ 1] * X / 64).half(),
        {"x": (X / 8).half()},
    ),
    "local array": (
        "float a[8]; for (int i = 0; i < 8; ++i) a[i] = x[(t + i) % 64]; y[t] = a[t % 8];",
        X[(T + T % 8) % 64],
    ),
    "constant table": (
        "y[t] = table[t % 4] * x[t];",
        torch.tensor([3.0, 1.0, 4.0, 1.5])[T % 4] * X,
        {"before": "const static __constant__ const float table[4] = {3.0f, 1.0f, 4.0f, 1.5f};"},
    ),
    "two parts of the dynamic shared memory": (
        "extern __shared__ float a[]; float* b = a + 64; a[t] = x[t]; b[63 - t] = x[t];\n"
        "__syncthreads(); y[t] = a[t ^ 32] + b[t];",
        X[T ^ 32] + X.flip(0),
        {"shared_bytes": 512},
    ),
    "every block has its own shared memory": (
        "__shared__ float a[64]; a[t] = x[64 * blockIdx.x + t]; __syncthreads();\n"
        "y[64 * blockIdx.x + t] = a[63 - t];",
        torch.arange(64.0 * 40).reshape(40, 64).flip(1).flatten(),
        {"x": torch.arange(64.0 * 40), "grid": (40, 1)},
    ),
    "a barrier in a uniform branch": (
        LOADED + "if (blockIdx.x == 1) { a[t] = 2; __syncthreads(); }\n"
        "y[64 * blockIdx.x + t] = a[63 - t];",
        torch.cat([X.flip(0), torch.full((64,), 2.0)]),
        {"grid": (2, 1)},
    ),
    "one barrier between two branches on the same condition": (
        "float v; if (t % 32 < 16) v = 2 * x[t]; else v = x[t] + 1;\n__syncthreads();\n"
        "if (t % 32 < 16) y[t] = v; else y[t] = -v;",
        torch.where(T % 32 < 16, 2 * X, -X - 1),
    ),
    "one shuffle between two branches on the same condition": (
        "float v; if (t % 32 < 16) v = 2 * x[t]; else v = x[t] + 1;\n"
        "v = __shfl_xor_sync(0xFFFFFFFFu, v, 16);\nif (t % 32 < 16) y[t] = v; else y[t] = -v;",
        torch.where(T % 32 < 16, X[T ^ 16] + 1, -2 * X[T ^ 16]),
    ),
    "one thread writes and reads an element, the others do not": (
        "__shared__ float a[64]; y[t] = 0; if (t == 3) a[5] = x[t]; float v = 0;\n"
        "if (t == 3) v = a[5];\ny[t] = v;",
        torch.where(T == 3, 4.0, 0.0),
    ),
    "a loop that never comes to its read or its write": (
        "__shared__ float a[64]; float sum = 0;\nfor (int i = 0; i < n; ++i) {\n"
        "if (x[i] > 100) sum += a[5];\nif (x[i] > 200) a[6] = sum;\n}\ny[t] = sum;",
        torch.zeros(64),
    ),
    "a loop that never comes to its read of what another thread writes": (
        LOADED + "float sum = 0; if (t == 40) a[5] = 1;\n"
        "for (int i = 0; i < n; ++i) if (x[i] > 100) sum += a[5];\ny[t] = sum;",
        torch.zeros(64),
    ),
    "bytes of a word read by one lane": (
        "y[t] = x[t] | x[t + 1] << 8 | x[t + 2] << 16 | (unsigned)x[t + 3] << 24;",
        torch.tensor([0x04030201 + 0x01010101 * t for t in range(64)], dtype=torch.int32),
        {"x": torch.arange(1, 68).byte()},
    ),
    "a word copied from any byte": (
        "memcpy(&y[t], x + t, 4);",
        torch.tensor([0x04030201 + 0x01010101 * t for t in range(64)], dtype=torch.int32),
        {"x": torch.arange(1, 68).byte()},
    ),
    "shared memory cleared with memset": (
        "__shared__ float a[64]; if (t == 0) memset(a, 0, sizeof a);\n"
        "__syncthreads(); y[t] = a[t] + x[t];",
        X,
    ),
    "an array copied with memcpy": (LOADED + "if (t == 0) memcpy(y, a, sizeof a);", X),
}


@pytest.mark.parametrize(
    "statements, expected, options",
    [(*case, {}) if len(case) == 2 else case for case in CORRECT.values()],
    ids=CORRECT,
)
def test_a_correct_kernel_has_no_finding(inspect, statements, expected, options):
    report, _ = inspect(statements, **{"x": X, "y": torch.zeros_like(expected)} | options)
    assert report.findings == ()
    assert report.y.tolist() == expected.tolist()
