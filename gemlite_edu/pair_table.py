"""Floor 2: the hole of the fast kernels for codes that stand for levels of a table."""

import torch

# Of memory, lanes that want different words wait for each other.
_OF_16 = """
__host__ __device__ constexpr float offset_of(int f) {{ return 0.0f; }}

__constant__ unsigned short LEVELS[16] = {{
    {first},
    {last}}};

// A lane holds one level, and asks lane `code` of its sixteen. Of the number of a lane the lowest
// four bits count.
__device__ half2 dequant_pair(uint32_t pairs, int f) {{
  const uint32_t own = LEVELS[threadIdx.x % 16];
  const uint32_t lower = __shfl_sync(FULL_WARP, own, pairs >> 4 * f, 16);
  const uint32_t upper = __shfl_sync(FULL_WARP, own, pairs >> (16 + 4 * f), 16);
  return as_half2(__byte_perm(lower, upper, 0x5410));
}}
"""
_OF_8 = """
__host__ __device__ constexpr float offset_of(int f) {{ return 0.0f; }}

// The lower and the upper bytes of eight levels: a code of 3 bits picks one of eight bytes.
__device__ half2 dequant_pair(uint32_t pairs, int f) {{
  const uint32_t codes = pairs >> 4 * f, both = (codes & 0x7) | (codes >> 12 & 0x70);
  const uint32_t lower = __byte_perm({lower[0]}, {lower[1]}, both);
  const uint32_t upper = __byte_perm({upper[0]}, {upper[1]}, both);
  return as_half2(__byte_perm(lower, upper, 0x5140));
}}
"""


def pair_table(levels):
    """The text of `dequant_pair` with which code c stands for levels[c].

    levels: 16 numbers, or 8 for codes of 3 bits in their fields of 4; each is rounded to float16.
    ValueError for others. For replace={"dequant_pair": ...} of 4-bit "gemv_a16wn_fast" and
    "gemm_a16wn_fast".

    >>> from gemlite_edu import load
    >>> from gemlite_edu.formats import NF4
    >>> kernel = load("gemv_a16wn_fast", nbits=4, replace={"dequant_pair": pair_table(NF4)})
    >>> kernel(torch.ones(1, 8).half(), *kernel.pack(torch.full((2, 8), 15).byte(), 1.0, 0.0))
    tensor([[8., 8.]], dtype=torch.float16)
    """
    halves = torch.as_tensor(levels).detach().cpu().half()
    if tuple(halves.shape) not in ((16,), (8,)) or not halves.isfinite().all():
        raise ValueError(
            f"levels must be 16 or 8 numbers that fit in float16, up to 65504, got {levels!r}"
        )
    bits = [half & 0xFFFF for half in halves.view(torch.int16).tolist()]
    if len(bits) == 8:
        return _OF_8.format(lower=_words(bits, 0), upper=_words(bits, 8))
    first, last = (", ".join(f"0x{half:04x}" for half in bits[i : i + 8]) for i in (0, 8))
    return _OF_16.format(first=first, last=last)


def _words(bits, shift):
    """Bytes of eight halves, four in a word, the first in its lowest bits."""
    found = bytes(half >> shift & 0xFF for half in bits)
    return [f"0x{int.from_bytes(found[i : i + 4], 'little'):08x}" for i in (0, 4)]
