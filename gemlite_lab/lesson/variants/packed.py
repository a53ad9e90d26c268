"""Changes to the GEMVs for packed weights: pieces of their texts, and their blocks."""

from gemlite_edu.runners.load import load
from gemlite_lab.bench.problem import WeightFormat
from gemlite_lab.lesson.variants.variant import Variant, edited

_FP32, _INT32, _DP4A = "gemv_a16wn_fp32", "gemv_a8wn_int32", "gemv_a8wn_dp4a"
_STAGING = (
    "      stage_to_shared(&x[m * K + start], &x_shared[r * K_staged], min(K - start, K_staged), "
    "K_staged);\n"
)
_X_MET = "&x_shared[r * K_staged + k - start]"
_WORD = "return __ldg(&row[tile * WARP_SIZE + lane_id]);"
_BYTES = """\
const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&row[tile * WARP_SIZE + lane_id]);
  return __ldg(bytes) | __ldg(bytes + 1) << 8 | __ldg(bytes + 2) << 16 | __ldg(bytes + 3) << 24;"""
_OWN_TURN = "      const Word word = load_word(row, tile, num_tiles);\n"
_MASK = "const uint32_t code = (word >> (32 - W_NBITS * (j + 1))) & CODE_MASK;"
_DIVISION = """\
uint32_t divisor = 1;
    for (int i = j + 1; i < PACK_FACTOR; ++i) divisor *= CODE_MASK + 1;
    const uint32_t code = word / divisor % (CODE_MASK + 1);"""
_ZERO_LATER = """\
__device__ float dequant_dot(uint32_t word, const X_T* x, float zero) {
  float sum = 0.0f, sum_x = 0.0f;
  #pragma unroll
  for (int j = 0; j < CODES_PER_GROUP; ++j) {
    const float x_met = to_float(x[j * WARP_SIZE]);
    sum += static_cast<float>((word >> (32 - W_NBITS * (j + 1))) & CODE_MASK) * x_met;
    sum_x += x_met;
  }
  return sum - zero * sum_x;
}
"""


def _of(name, change, nbits, base, *edits, launched=None):
    return Variant(name, change, WeightFormat(nbits), edited(base, nbits, *edits), launched)


VARIANTS = (
    _of("1 warp", "a block is one warp, which copies all of x", 4, _FP32, launched=(1, 1)),
    _of("4 warps", "a block has 4 warps", 4, _FP32, launched=(4, 4)),
    _of("8 warps, 2 bits", "a block has 8 warps", 2, _FP32, launched=(8, 8)),
    _of("16 warps, 8 bits", "a block has 16 warps", 8, _FP32, launched=(16, 16)),
    _of("8 warps, int8", "a block has 8 warps", 4, _INT32, launched=(8, 8)),
    _of("16 warps, dp4a", "a block has 16 warps", 2, _DP4A, launched=(16, 16)),
    _of(
        "no shared memory",
        "each warp reads x from global memory",
        4,
        _FP32,
        (_STAGING, ""),
        (_X_MET, "&x[static_cast<size_t>(first_m + r) * K + k]"),
        launched=(8, 8),
    ),
    _of("bytes", "a lane loads its word byte by byte", 4, _FP32, (_WORD, _BYTES)),
    _of(
        "a barrier a tile",
        "the block meets at a barrier in each tile",
        8,
        _FP32,
        (_OWN_TURN, f"{_OWN_TURN}      __syncthreads();\n"),
    ),
    _of("division", "a code is a quotient and a remainder", 4, _FP32, (_MASK, _DIVISION)),
    Variant(
        "zero afterwards",
        "the zero leaves after the loop: a sum of x beside the sum of products",
        WeightFormat(4),
        lambda: load(_FP32, nbits=4, replace={"dequant_dot": _ZERO_LATER}),
    ),
)
