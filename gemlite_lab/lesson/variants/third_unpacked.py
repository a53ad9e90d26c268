"""Kernels for weights of 16 bits, written after the calibration."""

from gemlite_lab.bench.problem import WeightFormat
from gemlite_lab.lesson.variants.later_unpacked import END, ONE_ROW, STAGE, of_text
from gemlite_lab.lesson.variants.unpacked import PAIRS
from gemlite_lab.lesson.variants.variant import Variant, edited

_TWO_SUMS = """\
  float other = 0.0f;
  for (int k = lane_id; k < K; k += 2 * WARP_SIZE) {
    sum += to_float(row[k]) * to_float(x[k]);
    other += to_float(row[k + WARP_SIZE]) * to_float(x[k + WARP_SIZE]);
  }
  sum += other;
"""
_PAIRS_OF_BOTH = PAIRS.replace("*>(x);", "*>(x_shared);")
_EIGHT_OF_BOTH = """\
  const uint4* fours = reinterpret_cast<const uint4*>(row);
  const uint4* x_fours = reinterpret_cast<const uint4*>(x_shared);
  for (int k = lane_id; k < K / 8; k += WARP_SIZE) {
    const uint4 w = fours[k], v = x_fours[k];
    const half2* w_pairs = reinterpret_cast<const half2*>(&w);
    const half2* x_pairs = reinterpret_cast<const half2*>(&v);
    for (int i = 0; i < 4; ++i) {
      const float2 a = __half22float2(w_pairs[i]), b = __half22float2(x_pairs[i]);
      sum += a.x * b.x;
      sum += a.y * b.y;
    }
  }
"""
_FROM_THE_END = """\
  for (int k = K - 1 - lane_id; k >= 0; k -= WARP_SIZE) sum += to_float(row[k]) * to_float(x[k]);
"""
_TWO_WARPS_A_ROW = """\
  __shared__ float parts[32];
  const int n = blockIdx.x * (warps / 2) + warp_id / 2, part = warp_id % 2;
  const X_T* row = W + static_cast<size_t>(min(n, N - 1)) * K;
  float sum = 0.0f;
  for (int k = part * (K / 2) + lane_id; k < (part + 1) * (K / 2); k += WARP_SIZE) {
    sum += to_float(row[k]) * to_float(x[k]);
  }
  sum = warp_reduce_sum(sum);
  if (lane_id == 0) parts[warp_id] = sum;
  __syncthreads();
  if (n < N && part == 0 && lane_id == 0) {
    y[n] = static_cast<X_T>(parts[warp_id] + parts[warp_id + 1]);
  }
}
"""
_BLOCK_A_ROW = """\
  __shared__ float parts[32];
  const int n = blockIdx.x;
  const X_T* row = W + static_cast<size_t>(n) * K;
  float sum = 0.0f;
  for (int k = threadIdx.x; k < K; k += blockDim.x) sum += to_float(row[k]) * to_float(x[k]);
  sum = warp_reduce_sum(sum);
  if (lane_id == 0) parts[warp_id] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < warps; ++warp) sum += parts[warp];
    y[n] = static_cast<X_T>(sum);
  }
}
"""
_TWO_ROWS = """\
  const int n = 2 * (blockIdx.x * warps + warp_id);
  if (n + 1 >= N) return;
  const X_T *row = W + static_cast<size_t>(n) * K, *next = row + K;
  float sum = 0.0f, next_sum = 0.0f;
  for (int k = lane_id; k < K; k += WARP_SIZE) {
    const float x_met = to_float(x_shared[k]);
    sum += to_float(row[k]) * x_met;
    next_sum += to_float(next[k]) * x_met;
  }
  sum = warp_reduce_sum(sum);
  next_sum = warp_reduce_sum(next_sum);
  if (lane_id == 0) y[n] = static_cast<X_T>(sum), y[n + 1] = static_cast<X_T>(next_sum);
}
"""
_ODD, _TURNED = ((3584, 3584), (9728, 2560)), ((2560, 9728), (5120, 4096))

VARIANTS = (
    of_text("two sums", "a lane has two sums", _ODD, (8, 8), ONE_ROW, _TWO_SUMS, END),
    of_text(
        "pairs of both",
        "a lane takes two halves of W and of x at once",
        _TURNED,
        (8, 8),
        *(STAGE, ONE_ROW, _PAIRS_OF_BOTH, END),
    ),
    of_text(
        "16 bytes of both",
        "a lane takes 16 bytes of W and of x at once",
        _ODD,
        (16, 16),
        *(STAGE, ONE_ROW, _EIGHT_OF_BOTH, END),
    ),
    of_text(
        "from the end",
        "the loop begins at the last k",
        _TURNED,
        (4, 4),
        *(ONE_ROW, _FROM_THE_END, END),
    ),
    of_text("two warps a row", "two warps share a row", _ODD, (8, 4), _TWO_WARPS_A_ROW),
    of_text(
        "a block a row, 2 warps",
        "2 warps, a whole block, share a row",
        _TURNED,
        (2, 1),
        _BLOCK_A_ROW,
    ),
    of_text("two rows, x shared", "a warp takes two rows", _ODD, (8, 16), STAGE, _TWO_ROWS),
    Variant(
        "shuffles, 2 warps",
        "a block has 2 warps",
        WeightFormat(16),
        edited("gemv_a16w16_warp", None),
        (2, 2),
        _TURNED,
    ),
)
