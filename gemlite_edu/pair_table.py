"""Floor 2: the hole of the fast kernels for codes of 4 bits that stand for levels of a table."""

import torch

_TEXT = """
__host__ __device__ constexpr float offset_of(int f) {{ return 0.0f; }}

__constant__ unsigned short LEVELS[16] = {{
    {halves}}};

// Of memory, lanes that want different words wait for each other. So each lane holds one level, and
// asks lane `code` of its sixteen; of the number of a lane the lowest four bits count.
__device__ half2 dequant_pair(uint32_t pairs, int f) {{
  const uint32_t own = LEVELS[threadIdx.x % 16];
  const uint32_t lower = __shfl_sync(FULL_WARP, own, pairs >> 4 * f, 16);
  const uint32_t upper = __shfl_sync(FULL_WARP, own, pairs >> (16 + 4 * f), 16);
  return as_half2(__byte_perm(lower, upper, 0x5410));
}}
"""


def pair_table(levels):
    """The text of `dequant_pair` with which code c stands for levels[c].

    levels: 16 numbers, each rounded to float16. ValueError for others.
    For `load("gemv_a16wn_fast", nbits=4, replace={"dequant_pair": ...})` and "gemm_a16wn_fast".

    >>> from gemlite_edu import load
    >>> from gemlite_edu.formats import NF4
    >>> kernel = load("gemv_a16wn_fast", nbits=4, replace={"dequant_pair": pair_table(NF4)})
    >>> kernel(torch.ones(1, 8).half(), *kernel.pack(torch.full((2, 8), 15).byte(), 1.0, 0.0))
    tensor([[8., 8.]], dtype=torch.float16)
    """
    halves = torch.as_tensor(levels).detach().cpu().half()
    if halves.shape != (16,) or not halves.isfinite().all():
        raise ValueError(
            f"levels must be 16 numbers that fit in float16, up to 65504, got {levels!r}"
        )
    bits = [f"0x{half & 0xFFFF:04x}" for half in halves.view(torch.int16).tolist()]
    return _TEXT.format(halves=",\n    ".join(", ".join(bits[i : i + 8]) for i in (0, 8)))
