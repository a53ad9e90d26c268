"""Texts for the holes of the fast kernels that decode codes with a table of levels.

The levels themselves are a tensor, which a call brings: all tables of one size share one text, and
with it one build.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch

from gemlite_edu.numbers.format import Format

COUNTS = tuple(2**nbits for nbits in range(1, 9))  # of the levels of a table
_FITS = """
static_assert({fits}, "a table of {count} levels is for codes of {bits} bits");
"""
_PREPARE_PAIRS = """
// Has the levels copied, and waits for none: finish_pairs takes them when they have come.
__shared__ float asked[{count}];

__device__ const float* prepare_pairs(const float* levels) {{
  for (unsigned i = threadIdx.x; i < {count}; i += blockDim.x) {{
    __pipeline_memcpy_async(&asked[i], &levels[i], sizeof(float));
  }}
  return asked;
}}
"""
_FINISH_PAIRS = """
// Both levels of every pair of codes, or of every byte that begins with a pair of 3 or 4 bits: four
// copies in each vector, lane i has one in bank i. Eight neighbouring threads write to eight
// vectors that share no bank.
constexpr unsigned COUNT = 1u << W_NBITS, PAIRS = W_NBITS < 3 ? COUNT * COUNT : 256;
__shared__ uint4 table[PAIRS][8];

__device__ void finish_pairs(const float* levels) {{
  for (unsigned i = threadIdx.x; i < PAIRS * 2; i += blockDim.x) {{
    const unsigned pair = i / 2, first = pair % COUNT, second = pair / COUNT % COUNT;
    const float low = levels[first % {count}], high = levels[second % {count}];
    const uint32_t both = as_bits(__floats2half2_rn(low, high));
    #pragma unroll
    for (unsigned j = 0; j < 8; j += 2) {{
      table[i / 2][i % 8 ^ j] = make_uint4(both, both, both, both);
    }}
  }}
}}
"""
_DEQUANT_PAIRS = """
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

// A lane's copy of codes c and d lies 128 c + (128 << W_NBITS) d bytes behind its first, `own`. A
// code at `place` of its byte counts 1 << place there: of the bytes that __dp4a multiplies and adds
// to `own`, that with c is multiplied by 128 >> place, that with d by W_NBITS places more. A code
// moves up by W_NBITS if its place is below W_NBITS, and down into its byte if it ends beyond it.
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const int first = f * W_NBITS % 8, up = first < W_NBITS ? W_NBITS : 0;
  const int down = max(first + W_NBITS - 8, 0);
  const int bit = f * W_NBITS + up - down, place = bit % 8, byte = bit / 8;
  const uint32_t mask = ((1u << W_NBITS) - 1u) * 0x01010101u << place;
  const uint32_t moved = up ? pairs << up : pairs >> down;
  const uint32_t codes = moved & mask;
  const uint32_t own = __cvta_generic_to_shared(table) + threadIdx.x % 32 * 4;
  const uint32_t at = __dp4a(codes, (128u | 128u << W_NBITS + 16) >> place << 8 * byte, own);
  return as_half2(*static_cast<const uint32_t*>(__cvta_shared_to_generic(at)));
}
"""
_DEQUANT_BYTES = """
// Codes of two planes in a byte are where their pair is, whatever follows them: no mask, no move.
__device__ half2 dequant_pair(InByte codes) {
  const uint32_t own = __cvta_generic_to_shared(table) + threadIdx.x % 32 * 4;
  const uint32_t at = __dp4a(codes.word, 128u << 8 * codes.byte, own);
  return as_half2(*static_cast<const uint32_t*>(__cvta_shared_to_generic(at)));
}
"""
_FINISH_LEVELS = """
// The level of every byte that begins with a code, four copies in each vector: lane i has one in
// bank i. What follows the code in its byte counts nothing. Eight neighbouring threads write to
// eight vectors that share no bank.
__shared__ uint4 table[256][8];

__device__ void finish_pairs(const float* levels) {{
  for (unsigned i = threadIdx.x; i < 256 * 2; i += blockDim.x) {{
    const uint32_t level = as_bits(__float2half2_rn(levels[i / 2 % {count}]));
    #pragma unroll
    for (unsigned j = 0; j < 8; j += 2) {{
      table[i / 2][i % 8 ^ j] = make_uint4(level, level, level, level);
    }}
  }}
}}
"""
_DEQUANT_LEVELS = """
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ uint32_t level_at(uint32_t address) {
  return *static_cast<const uint32_t*>(__cvta_shared_to_generic(address));
}

// A lane's copy of what stands for byte b lies 128 b bytes behind its first, `own`. A code that
// does not begin a byte moves to the upper one of its half; __dp4a multiplies that byte by 128 and
// adds it to `own`; it multiplies the other bytes by 0.
__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const int bit = f * W_NBITS;
  const uint32_t codes = bit == 0 ? pairs : bit < 8 ? pairs << (8 - bit) : pairs >> (bit - 8);
  const uint32_t factor = bit == 0 ? 128u : 128u << 8;
  const uint32_t own = __cvta_generic_to_shared(table) + threadIdx.x % 32 * 4;
  const uint32_t low = level_at(__dp4a(codes, factor, own));
  const uint32_t high = level_at(__dp4a(codes, factor << 16, own));
  return as_half2(__byte_perm(low, high, 0x5410));
}
"""
HOLE_BYTES = 33 * 1024  # shared memory that a text in the hole prepare_pairs may use
_WITHOUT_OFFSETS = (_DEQUANT_PAIRS + _DEQUANT_BYTES, _DEQUANT_LEVELS)
_WITH_ONE_OFFSET = (4, 8)  # bits: as the kernels themselves decode integers
_MOST_OF_PAIRS = 16  # levels: a table of all pairs of more would not fit into shared memory


class PairTable(dict):
    """Texts {hole: text} that decode a code as a level, with the levels that they are to decode.

    levels: floats that float16 holds. Pass the table itself to `load`: a plain dict has no levels.
    """

    def __init__(self, texts: dict[str, str], levels: tuple[float, ...]) -> None:
        super().__init__(texts)
        self.levels = levels


def pair_table(levels: Sequence[float] | torch.Tensor | Format) -> PairTable:
    """Texts for `prepare_pairs` and `dequant_pair` that decode code c as levels[c]: a `PairTable`.

    levels: 2**nbits numbers for codes of nbits bits, 2 to 256 of them, or a `Format` with so many
        levels; each is rounded to float16.
    Raises ValueError for other levels. Pass the result as `replace` to `load` the fast GEMV or GEMM
    for codes of this width. Eight levels are for codes of 3 bits, alone or in codes of 4 bits.

    The texts of equally many levels are the same. The levels are a tensor that the kernel passes to
    them at each call, so a second table costs no second build.

    Up to 16 levels the table holds both levels of each pair of codes, so that a pair takes one read
    of shared memory; beyond that it holds single levels, and a pair takes two.

    >>> from gemlite_edu import load
    >>> from gemlite_edu.numbers.formats import NF4
    >>> kernel = load("gemv_a16wn_fast", nbits=4, replace=pair_table(NF4))
    >>> kernel(torch.ones(1, 8).half(), *kernel.pack(torch.full((2, 8), 15).byte(), 1.0, 0.0))
    tensor([[8., 8.]], dtype=torch.float16)
    """
    halves = _halves(levels)
    return PairTable(table_texts(len(halves)), tuple(halves.tolist()))


@cache
def table_texts(count: int) -> dict[str, str]:
    """The texts {hole: text} of every table of so many levels."""
    of_pairs = count <= _MOST_OF_PAIRS
    bits = count.bit_length() - 1
    fits = f"W_NBITS == {bits}" + (" || W_NBITS == 4" if bits == 3 else "")
    about = dict(count=count, bits=bits, fits=fits)
    prepare = _FITS + _PREPARE_PAIRS + (_FINISH_PAIRS if of_pairs else _FINISH_LEVELS)
    return {
        "prepare_pairs": prepare.format(**about),
        "dequant_pair": _WITHOUT_OFFSETS[0 if of_pairs else 1],
    }


def known_of(texts: Mapping[str, str], nbits: int) -> dict[str, Any]:
    """What `FastWeights` of nbits must know about {hole: text}: its hole_bytes and has_one_offset.

    The offsets of a text of the user's own are not known.
    """
    own = texts.get("dequant_pair")
    has_one_offset = nbits in _WITH_ONE_OFFSET if own is None else own in _WITHOUT_OFFSETS
    hole_bytes = HOLE_BYTES if "prepare_pairs" in texts else 0
    return {"hole_bytes": hole_bytes, "has_one_offset": has_one_offset}


def _halves(levels: Sequence[float] | torch.Tensor | Format) -> torch.Tensor:
    expected = (
        "levels must be 2, 4, 8, 16, 32, 64, 128 or 256 numbers that fit in float16, up to 65504"
    )
    numbers = levels.levels if isinstance(levels, Format) else levels
    if numbers is None:
        raise ValueError(f"{expected}, got {levels!r}, which has none")
    try:
        halves = torch.as_tensor(numbers).detach().cpu().half()
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{expected}, got {numbers!r:.60}") from None
    if halves.dim() != 1 or len(halves) not in COUNTS:
        raise ValueError(f"{expected}, got a shape of {tuple(halves.shape)}")
    if not halves.isfinite().all():
        first = int((~halves.isfinite()).nonzero()[0])
        raise ValueError(f"{expected}, got {float(numbers[first])} at place {first}")
    return halves
