"""Changes to the GEMVs for weights of 16 bits."""

from gemlite_lab.bench.problem import WeightFormat
from gemlite_lab.lesson.variants.variant import Variant, edited

_W16 = WeightFormat(16)
_LOOP = """\
    for (int k = lane_id; k < K; k += WARP_SIZE) {
      sum += to_float(row[k]) * to_float(x_shared[k]);
    }
"""
_LOOP_WITHOUT_SHARED = """\
  for (int k = lane_id; k < K; k += WARP_SIZE) {
    sum += to_float(row[k]) * to_float(x[m * K + k]);
  }
"""
PAIRS = """\
  const half2* pairs = reinterpret_cast<const half2*>(row);
  const half2* x_pairs = reinterpret_cast<const half2*>(x);
  for (int k = lane_id; k < K / 2; k += WARP_SIZE) {
    const float2 w = __half22float2(pairs[k]), v = __half22float2(x_pairs[k]);
    sum += w.x * v.x + w.y * v.y;
  }
"""
_EIGHT = """\
  const uint4* fours = reinterpret_cast<const uint4*>(row);
  const uint4* x_fours = reinterpret_cast<const uint4*>(x);
  for (int k = lane_id; k < K / 8; k += WARP_SIZE) {
    const uint4 w = fours[k], v = x_fours[k];
    const half2* w_pairs = reinterpret_cast<const half2*>(&w);
    const half2* x_pairs = reinterpret_cast<const half2*>(&v);
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 a = __half22float2(w_pairs[i]), b = __half22float2(x_pairs[i]);
      sum += a.x * b.x + a.y * b.y;
    }
  }
"""
_OWN_PIECE = """\
  const int piece = K / WARP_SIZE;
  for (int k = lane_id * piece; k < (lane_id + 1) * piece; ++k) {
    sum += to_float(row[k]) * to_float(x[m * K + k]);
  }
"""
_TWO_PASSES = """\
  for (int k = 2 * lane_id; k < K; k += 2 * WARP_SIZE) {
    sum += to_float(row[k]) * to_float(x[m * K + k]);
  }
  for (int k = 2 * lane_id + 1; k < K; k += 2 * WARP_SIZE) {
    sum += to_float(row[k]) * to_float(x[m * K + k]);
  }
"""
_MEETING = """\
    for (int k = lane_id; k < K; k += WARP_SIZE) {
      sum += to_float(row[k]) * to_float(x_shared[k]);
      __syncthreads();
    }
"""
_COLUMNS = "x_shared[(k % 32) * (K / 32) + k / 32]"
_STAGED = "    x_shared[k] = k < K ? x[k] : static_cast<X_T>(0.0f);\n"


def _of_warp(name, change, loop, launched=None):
    make = edited("gemv_a16w16_warp", None, (_LOOP_WITHOUT_SHARED, loop))
    return Variant(name, change, _W16, make, launched)


VARIANTS = (
    Variant(
        "a row a thread, 1 warp",
        "one thread computes a row, in blocks of one warp",
        _W16,
        edited("gemv_a16w16_naive", None),
        (1, 32),
        ((4096, 4096), (14336, 4096)),
    ),
    Variant(
        "a row a warp, 1 warp",
        "a block is one warp",
        _W16,
        edited("gemv_a16w16_warp", None),
        (1, 1),
    ),
    Variant(
        "x shared by 4 warps",
        "a block has 4 warps, so each copies x for 4 rows",
        _W16,
        edited("gemv_a16w16_shared", None),
        (4, 4),
    ),
    _of_warp(
        "a piece a lane", "a lane takes neighbours along K, not every 32nd", _OWN_PIECE, (8, 8)
    ),
    _of_warp("pairs", "a lane loads two halves at once", PAIRS),
    _of_warp("eight halves", "a lane loads 16 bytes at once, in blocks of 8 warps", _EIGHT, (8, 8)),
    _of_warp("two passes", "even k first and odd k afterwards: each sector twice", _TWO_PASSES),
    Variant(
        "a barrier a turn",
        "the block meets at a barrier in each turn of the loop",
        _W16,
        edited("gemv_a16w16_shared", None, (_LOOP, _MEETING)),
    ),
    Variant(
        "x in columns",
        "x lies in shared memory so that the lanes of a warp meet in few banks",
        _W16,
        edited(
            "gemv_a16w16_shared",
            None,
            (_STAGED, f"    {_COLUMNS} = x[k];\n"),
            ("to_float(x_shared[k])", f"to_float({_COLUMNS})"),
        ),
    ),
)
