"""Small kernels, each with one kind of access, whose memory counters are known from hardware.

Every kernel gets x (in), y (out) and n; `t` is the thread's number in its block, `i` in the grid.
"""

from dataclasses import dataclass, replace

import torch

from gemlite_edu import load
from gemlite_edu.kernels.gemv import KERNELS
from gemlite_edu.kernels.plan import Launch
from gemlite_edu.numbers.checks import pointers_of
from gemlite_edu.runners import simulator
from gemlite_edu.runners.kernel import Kernel

ELEMENTS = 8192
LENGTH = 113  # n
THREADS = 64
BLOCKS = 2
_TYPES = {"float": torch.float32, "half": torch.float16, "unsigned char": torch.uint8}

FROM_GLOBAL = {
    "load stride 1": "y[i] = x[i];",
    "load stride 2": "y[i] = x[2 * i];",
    "load stride 4": "y[i] = x[4 * i];",
    "load stride 8": "y[i] = x[8 * i];",
    "load stride 32": "y[i] = x[32 * i];",
    "load one float off": "y[i] = x[i + 1];",
    "load seven floats off": "y[i] = x[i + 7];",
    "load reversed": "y[i] = x[4095 - i];",
    "load broadcast": "y[i] = x[blockIdx.x];",
    "load one of four": "y[i] = x[i / 4];",
    "load gathered": "y[i] = x[i * 37 % 256];",
    "load 17 lanes": "y[i] = t % 32 < 17 ? x[i] : 1.0f;",
    "load odd lanes": "if (t & 1) y[i] = x[i];",
    "load tail": "if (i < n) y[i] = x[i];",
    "load __ldg": "y[i] = __ldg(x + i);",
    "load float2": "const float2 v = reinterpret_cast<const float2*>(x)[i]; y[i] = v.x + v.y;",
    "load float4": (
        "const float4 v = reinterpret_cast<const float4*>(x)[i]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "load float2 stride 3": (
        "const float2 v = reinterpret_cast<const float2*>(x)[3 * i]; y[i] = v.x + v.y;"
    ),
    "load float4 stride 2": (
        "const float4 v = reinterpret_cast<const float4*>(x)[2 * i]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "load float4 broadcast": (
        "const float4 v = reinterpret_cast<const float4*>(x)[blockIdx.x];"
        " y[i] = v.x + v.y + v.z + v.w;"
    ),
    "load float4 one of two": (
        "const float4 v = reinterpret_cast<const float4*>(x)[i / 2]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "load float4 tail": (
        "if (i < n) { const float4 v = reinterpret_cast<const float4*>(x)[i];"
        " y[i] = v.x + v.y + v.z + v.w; }"
    ),
    "load four neighbours": "y[i] = x[4 * i] + x[4 * i + 1] + x[4 * i + 2] + x[4 * i + 3];",
    "load twice": "y[i] = x[i] * x[i];",
    "load the same and the next": "y[i] = x[i] + x[i + 1];",
}
TO_GLOBAL = {
    "store stride 2": "y[2 * i] = 1.0f;",
    "store stride 32": "y[32 * i] = 1.0f;",
    "store one float off": "y[i + 1] = 1.0f;",
    "store reversed": "y[4095 - i] = 1.0f;",
    "store tail": "if (i < n) y[i] = 1.0f;",
    "store lane 0": "if (t % 32 == 0) y[i / 32] = 1.0f;",
    "store float2": "reinterpret_cast<float2*>(y)[i] = make_float2(1.0f, 2.0f);",
    "store float4": "reinterpret_cast<float4*>(y)[i] = make_float4(1.0f, 2.0f, 3.0f, 4.0f);",
    "copy float4": "reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];",
}
# Each first fills s[0 .. 2048) and waits: 32 stores of one float a thread.
FROM_SHARED = {
    "shared stride 1": "y[i] = s[t];",
    "shared stride 2": "y[i] = s[2 * t];",
    "shared stride 3": "y[i] = s[3 * t];",
    "shared stride 4": "y[i] = s[4 * t];",
    "shared stride 8": "y[i] = s[8 * t];",
    "shared stride 32": "y[i] = s[32 * (t % 32) + t / 32];",
    "shared stride 33": "y[i] = s[33 * (t % 32) + t / 32];",
    "shared broadcast": "y[i] = s[blockIdx.x];",
    "shared two words": "y[i] = s[32 * (t & 1)];",
    "shared gathered": "y[i] = s[t * 37 % 100];",
    "shared 17 lanes": "if (t % 32 < 17) y[i] = s[2 * t];",
    "shared odd lanes": "if (t & 1) y[i] = s[t * 16];",
    "shared float2": "const float2 v = reinterpret_cast<float2*>(s)[t]; y[i] = v.x + v.y;",
    "shared float4": (
        "const float4 v = reinterpret_cast<float4*>(s)[t]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "shared float2 stride 2": (
        "const float2 v = reinterpret_cast<float2*>(s)[2 * t]; y[i] = v.x + v.y;"
    ),
    "shared float4 stride 2": (
        "const float4 v = reinterpret_cast<float4*>(s)[2 * t]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "shared float4 stride 8": (
        "const float4 v = reinterpret_cast<float4*>(s)[8 * (t % 32)]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "shared float2 broadcast": (
        "const float2 v = reinterpret_cast<float2*>(s)[blockIdx.x]; y[i] = v.x + v.y;"
    ),
    "shared float4 broadcast": (
        "const float4 v = reinterpret_cast<float4*>(s)[blockIdx.x]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "shared float4 one of two": (
        "const float4 v = reinterpret_cast<float4*>(s)[t / 2]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "shared float2 of 9 lanes": (
        "if (t % 32 < 9) { const float2 v = reinterpret_cast<float2*>(s)[t]; y[i] = v.x + v.y; }"
    ),
    "shared float4 of odd lanes": (
        "if (t & 1) { const float4 v = reinterpret_cast<float4*>(s)[t];"
        " y[i] = v.x + v.y + v.z + v.w; }"
    ),
    "shared float2 one of two": (
        "const float2 v = reinterpret_cast<float2*>(s)[t / 2]; y[i] = v.x + v.y;"
    ),
    "shared float2 one of two, stride 16": (
        "const float2 v = reinterpret_cast<float2*>(s)[t / 2 * 16]; y[i] = v.x + v.y;"
    ),
    "shared float2 one of four": (
        "const float2 v = reinterpret_cast<float2*>(s)[t / 4]; y[i] = v.x + v.y;"
    ),
    "shared float2, lanes two apart": (
        "const float2 v = reinterpret_cast<float2*>(s)[(t & 1) + t / 4 * 2]; y[i] = v.x + v.y;"
    ),
    "shared float2, lanes four apart": (
        "const float2 v = reinterpret_cast<float2*>(s)[(t & 3) + t / 8 * 4]; y[i] = v.x + v.y;"
    ),
    "shared float2, pairs in one half": (
        "const float2 v = reinterpret_cast<float2*>(s)[t % 32 < 16 ? t / 2 : t]; y[i] = v.x + v.y;"
    ),
    "shared float2, pairs of 20 lanes": (
        "if (t % 32 < 20) { const float2 v = reinterpret_cast<float2*>(s)[t / 2];"
        " y[i] = v.x + v.y; }"
    ),
    "shared float2, pairs of 21 lanes": (
        "if (t % 32 < 21) { const float2 v = reinterpret_cast<float2*>(s)[t / 2];"
        " y[i] = v.x + v.y; }"
    ),
    "shared float2, the same in both halves": (
        "const float2 v = reinterpret_cast<float2*>(s)[t % 16]; y[i] = v.x + v.y;"
    ),
    "shared float4 one of four": (
        "const float4 v = reinterpret_cast<float4*>(s)[t / 4]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "shared float4, lanes two apart": (
        "const float4 v = reinterpret_cast<float4*>(s)[(t & 1) + t / 4 * 2];"
        " y[i] = v.x + v.y + v.z + v.w;"
    ),
    "shared float4, pairs in one half": (
        "const float4 v = reinterpret_cast<float4*>(s)[t % 32 < 16 ? t / 2 : t];"
        " y[i] = v.x + v.y + v.z + v.w;"
    ),
    "shared float4, the same in all quarters": (
        "const float4 v = reinterpret_cast<float4*>(s)[t % 8]; y[i] = v.x + v.y + v.z + v.w;"
    ),
    "shared halves": "y[i] = __half2float(reinterpret_cast<half*>(s)[t]);",
    "shared halves stride 2": "y[i] = __half2float(reinterpret_cast<half*>(s)[2 * t]);",
    "shared halves stride 64": "y[i] = __half2float(reinterpret_cast<half*>(s)[64 * (t % 32)]);",
    "shared bytes": "y[i] = reinterpret_cast<unsigned char*>(s)[t];",
    "shared bytes stride 128": "y[i] = reinterpret_cast<unsigned char*>(s)[128 * (t % 32)];",
    "shared either of two": "y[i] = x[t] > 7.0f ? s[t] : s[t + 1024];",
}
TO_SHARED = {
    "shared store stride 2": "s[2 * t] = x[i];",
    "shared store stride 32": "s[32 * (t % 32) + t / 32] = x[i];",
    "shared store stride 33": "s[33 * (t % 32) + t / 32] = x[i];",
    "shared store 17 lanes": "if (t % 32 < 17) s[4 * t] = x[i];",
    "shared store float4": (
        "reinterpret_cast<float4*>(s)[t] = reinterpret_cast<const float4*>(x)[i];"
    ),
    "shared store float2 stride 2": (
        "reinterpret_cast<float2*>(s)[2 * t] = reinterpret_cast<const float2*>(x)[i];"
    ),
    "shared store of pairs": "reinterpret_cast<float2*>(s)[t / 2] = make_float2(1.0f, 2.0f);",
    "shared store halves stride 2": ("reinterpret_cast<half*>(s)[2 * t] = __float2half(x[i]);"),
}
CONTROL = {
    "loop, odd and even lanes in turn": (
        "float sum = 0.0f;\n#pragma unroll 1\nfor (int j = 0; j < 8; ++j)\n"
        "  if ((t & 1) == (j & 1))\n    sum += x[j * n + i];\ny[i] = sum;"
    ),
    "loop, odd and even lanes in turn, unrolled": (
        "float sum = 0.0f;\nfor (int j = 0; j < 8; ++j)\n"
        "  if ((t & 1) == (j & 1)) sum += x[j * 256 + i];\ny[i] = sum;"
    ),
    "loop of a different length in each lane": (
        "float sum = 0.0f;\nfor (int j = 0; j <= t % 8; ++j) sum += x[j * 128 + i];\ny[i] = sum;"
    ),
    "loop with an invariant scale": (
        "float sum = 0.0f;\n"
        "for (int j = 0; j < n; j += 16) sum += x[4096 + blockIdx.x] * x[j + i];\ny[i] = sum;"
    ),
    "loop that stores beside an invariant scale": (
        "for (int j = 0; j < 4; ++j) y[j * 128 + i] = x[4096 + blockIdx.x] * x[j * 128 + i];"
    ),
    "guarded tail of a loop": (
        "float sum = 0.0f;\nfor (int k = t; k < n; k += 32) sum += x[k];\ny[i] = sum;"
    ),
    "whole warps leave": "if (t / 32 == 1) return;\ny[i] = x[i];",
    "branch with two loads on two lines": (
        "float v;\nif (t & 1)\n  v = x[i];\nelse\n  v = x[i + 512];\ny[i] = v;"
    ),
    "branch whose sides differ": (
        "float v;\nif (t & 1)\n  v = x[i];\nelse\n  v = 2.0f * x[i + 512] + x[i + 1024];\ny[i] = v;"
    ),
    "select between two loads": "y[i] = (t & 1) ? x[i] : x[i + 512];",
    "float4, x and w used": (
        "const float4 v = reinterpret_cast<const float4*>(x)[i]; y[i] = v.x - v.w;"
    ),
    "float4, x and y used": (
        "const float4 v = reinterpret_cast<const float4*>(x)[i]; y[i] = v.x - v.y;"
    ),
    "float4, x used": "const float4 v = reinterpret_cast<const float4*>(x)[i]; y[i] = v.x;",
}
PARTLY_USED_SHARED = {
    "shared float4, x and w used": (
        "const float4 v = reinterpret_cast<float4*>(s)[t]; y[i] = v.x - v.w;"
    ),
    "shared four neighbours": "y[i] = s[4 * t] + s[4 * t + 1] + s[4 * t + 2] + s[4 * t + 3];",
}


@dataclass(frozen=True)
class SmallKernel:
    """One of the texts above, launched with BLOCKS blocks of THREADS threads."""

    body: str
    x_type: str = "float"
    in_shared: bool = False

    @property
    def text(self):
        fill = (
            "__shared__ __align__(16) float s[2304];\n"
            "for (int j = t; j < 2304; j += blockDim.x) s[j] = j;\n__syncthreads();\n"
        )
        return (
            "#include <cuda_fp16.h>\n"
            f"__global__ void kernel(const {self.x_type}* x, {self.x_type}* y, int n) {{\n"
            "const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n"
            f"{fill if self.in_shared else ''}{self.body}\n}}\n"
        )

    def _tensors(self):
        x = torch.arange(ELEMENTS).remainder(101).to(_TYPES[self.x_type])
        return x, torch.zeros_like(x)

    def inspect(self):
        x, y = self._tensors()
        arguments = [
            simulator.Tensor("x", x),
            simulator.Tensor("y", y, is_output=True),
            simulator.Integer(LENGTH),
        ]
        return simulator.inspect_text(self.text, arguments, simulator.Launch((BLOCKS, 1), THREADS))

    def launch_on_gpu(self):
        from gemlite_edu.runners import cuda

        device = torch.device("cuda", torch.cuda.current_device())
        capability = torch.cuda.get_device_capability(device)
        library = cuda.build_kernel(self.text, "kernel", {}, capability)
        x, y = (tensor.to(device) for tensor in self._tensors())
        plan = Launch((BLOCKS, 1), THREADS, 0, (LENGTH,))
        cuda.ReadyLaunch(library, plan, device)(pointers_of((x, y)))


@dataclass(frozen=True)
class PackageKernel:
    """A kernel of the package at one shape."""

    name: str
    nbits: int | None
    x_dtype: torch.dtype
    M: int
    N: int
    K: int
    group_size: int | None = None

    def __str__(self):
        width = "" if self.nbits is None else f", {self.nbits} bits"
        dtype = str(self.x_dtype).removeprefix("torch.")
        groups = "" if self.group_size is None else f", groups of {self.group_size}"
        return f"{self.name}{width}, {dtype}, M {self.M}, N {self.N}, K {self.K}{groups}"

    def _call(self, run, device):
        kernel = load(self.name, self.nbits, self.x_dtype, group_size=self.group_size)
        x = torch.ones(self.M, self.K, dtype=self.x_dtype)
        if not KERNELS[self.name].is_packed:
            W = torch.ones(self.N, self.K, dtype=self.x_dtype)
            return run(kernel, x.to(device), W.to(device))
        scales = torch.ones(self.N, self.K // (self.group_size or self.K), device=device)
        scales = scales.int() if self.x_dtype == torch.int8 else scales
        return run(kernel, x.to(device), self._words().to(device), scales, scales)

    def _words(self):
        """Any bits: in sparse weights they say which x is read."""
        layout = replace(KERNELS[self.name], nbits=self.nbits).layout(self.K)
        shape = layout.packed_shape(self.N, self.K)
        generator = torch.Generator().manual_seed(0)
        return torch.randint(-(2**31), 2**31, shape, generator=generator).int()

    def inspect(self):
        return self._call(Kernel.inspect, "cpu")

    def launch_on_gpu(self):
        self._call(Kernel.__call__, "cuda")


def _small_kernels():
    for group in (FROM_GLOBAL, TO_GLOBAL, CONTROL):
        yield from ((name, SmallKernel(body)) for name, body in group.items())
    for name, body in (FROM_SHARED | PARTLY_USED_SHARED).items():
        yield name, SmallKernel(body, in_shared=True)
    for name, body in TO_SHARED.items():
        yield name, SmallKernel(f"{body}\n__syncthreads();\ny[i] = s[t];", in_shared=True)
    for name in ("load stride 1", "load stride 2", "load one float off", "load 17 lanes"):
        for kind in ("half", "unsigned char"):
            body = FROM_GLOBAL[name].replace("1.0f", f"({kind})1.0f")
            yield f"{name}, {kind}", SmallKernel(body, kind)


def _package_kernels():
    half, bfloat16 = torch.float16, torch.bfloat16
    for kind in ("naive", "coalesced", "warp", "shared"):
        yield PackageKernel(f"gemv_a16w16_{kind}", None, half, 1, 64, 512)
        yield PackageKernel(f"gemv_a16w16_{kind}", None, bfloat16, 2, 70, 500)
    for nbits in range(1, 9):
        yield PackageKernel("gemv_a16wn_fp32", nbits, half, 1, 64, 2048)
        yield PackageKernel("gemv_a16wn_fp32", nbits, bfloat16, 2, 45, 1000)
    yield PackageKernel("gemv_a16wn_fp32", 4, half, 1, 256, 4096)
    for name in ("gemv_a16wn_float4", "gemv_a16wn_half2", "gemv_a8wn_int32", "gemv_a8wn_dp4a"):
        for nbits in (2, 4, 8):
            yield PackageKernel(name, nbits, KERNELS[name].x_dtypes[0], 1, 64, 2048)
        yield PackageKernel(name, 3, KERNELS[name].x_dtypes[-1], 2, 45, 1000)
    for name in ("gemv_a16w3_planes", "gemv_a16w7_sparse"):
        yield PackageKernel(name, None, half, 1, 64, 2048)
        yield PackageKernel(name, None, bfloat16, 2, 45, 1000)
    for name, launch in KERNELS.items():
        if launch.is_packed:
            nbits, x_dtype = 4 if launch.takes_nbits else None, launch.x_dtypes[0]
            yield PackageKernel(name, nbits, x_dtype, 1, 64, 2048, group_size=128)
            yield PackageKernel(name, nbits, x_dtype, 2, 45, 1024, group_size=64)
            yield PackageKernel(name, nbits, x_dtype, 2, 45, 1000, group_size=40)


COUNTER_KERNELS = dict(_small_kernels()) | {str(kernel): kernel for kernel in _package_kernels()}

# Where nvcc makes other accesses than the text says. The report says so for the line.
DIFFERENT = {
    "loop of a different length in each lane": "lanes leave this loop at different turns",
    "guarded tail of a loop": "lanes leave this loop at different turns",
    "loop with an invariant scale": "x is loaded from the same addresses again and again",
    "branch with two loads on two lines": "two sides of a branch load x",
    "float4, x and w used": "not all fields are used",
    "shared float4, x and w used": "not all fields are used",
    "shared four neighbours": "neighbours in s come one after the other",
    "gemv_a16w16_coalesced, bfloat16, M 2, N 70, K 500": "lanes leave this loop",
    "gemv_a16w16_warp, bfloat16, M 2, N 70, K 500": "lanes leave this loop",
    "gemv_a16w16_shared, bfloat16, M 2, N 70, K 500": "lanes leave this loop",
}
DIFFERENT |= {
    name: "are loaded for each row of x"
    for name in COUNTER_KERNELS
    if ", M 2, " in name and "groups of" in name
}
