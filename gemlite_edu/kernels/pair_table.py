"""Texts for the holes of the fast kernels that decode codes with a table of levels."""

import torch

from gemlite_edu.numbers.format import Format

_PREPARE = """
__constant__ uint32_t LEVELS[16] = {{
    {first},
    {last}}};

// Both levels of every pair of codes, four copies in each vector: lane i has one in bank i.
__shared__ uint4 table[256][8];

__device__ void prepare_pairs() {{
  for (unsigned i = threadIdx.x; i < 256 * 8; i += blockDim.x) {{
    const uint32_t both = LEVELS[i / 8 % 16] | LEVELS[i / 8 / 16] << 16;
    table[i / 8][i % 8] = make_uint4(both, both, both, both);
  }}
}}
"""
_DEQUANT = """
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

// A lane's copy of codes c and d lies 128 c + 16 * 128 d bytes behind its first, `own`. Codes in
// the upper half of a byte count 16 there: of the four bytes that __dp4a multiplies and adds to
// `own`, that with c is multiplied by 8, that with d by 128.
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = (f % 2 == 0 ? pairs << 4 : pairs) & 0xF0F0F0F0;
  const uint32_t own = __cvta_generic_to_shared(table) + threadIdx.x % 32 * 4;
  const uint32_t at = __dp4a(codes, f < 2 ? 0x00800008u : 0x80000800u, own);
  return as_half2(*static_cast<const uint32_t*>(__cvta_shared_to_generic(at)));
}
"""


def pair_table(levels):
    """Texts for `prepare_pairs` and `dequant_pair` that decode code c as levels[c].

    levels: 16 numbers, or 8 for 3-bit codes stored in 4-bit fields, or a `Format` with so many
        levels; each is rounded to float16.
    Raises ValueError for other levels. Pass the result as `replace` to `load` a 4-bit
    "gemv_a16wn_fast" or "gemm_a16wn_fast".

    >>> from gemlite_edu import load
    >>> from gemlite_edu.numbers.formats import NF4
    >>> kernel = load("gemv_a16wn_fast", nbits=4, replace=pair_table(NF4))
    >>> kernel(torch.ones(1, 8).half(), *kernel.pack(torch.full((2, 8), 15).byte(), 1.0, 0.0))
    tensor([[8., 8.]], dtype=torch.float16)
    """
    numbers = levels.levels or () if isinstance(levels, Format) else levels
    halves = torch.as_tensor(numbers).detach().cpu().half()
    if tuple(halves.shape) not in ((16,), (8,)) or not halves.isfinite().all():
        raise ValueError(
            f"levels must be 16 or 8 numbers that fit in float16, up to 65504, got {levels!r}"
        )
    bits = [f"0x{half & 0xFFFF:04x}" for half in halves.view(torch.int16).tolist()]
    bits *= 16 // len(bits)  # for 3-bit codes, bit 3 of the field does not matter
    prepare = _PREPARE.format(first=", ".join(bits[:8]), last=", ".join(bits[8:]))
    return {"prepare_pairs": prepare, "dequant_pair": _DEQUANT}
