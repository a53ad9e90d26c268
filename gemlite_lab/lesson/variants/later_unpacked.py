"""Whole kernels for weights of 16 bits, recorded after the calibration."""

from gemlite_edu.runners.load import load
from gemlite_lab.bench.problem import WeightFormat
from gemlite_lab.lesson.variants.variant import Variant

HEAD = """\
__global__ void __launch_bounds__(MAX_THREADS_PER_BLOCK)
gemv(const X_T* x, const X_T* W, X_T* y, int N, int K) {
  const int lane_id = threadIdx.x % WARP_SIZE, warp_id = threadIdx.x / WARP_SIZE;
  const int warps = blockDim.x / WARP_SIZE;
"""
STAGE = """\
  extern __shared__ X_T x_shared[];
  stage_to_shared(x, x_shared, K, K);
"""
ONE_ROW = """\
  const int n = blockIdx.x * warps + warp_id;
  if (n >= N) return;
  const X_T* row = W + static_cast<size_t>(n) * K;
  float sum = 0.0f;
"""
END = """\
  sum = warp_reduce_sum(sum);
  if (lane_id == 0) y[n] = static_cast<X_T>(sum);
}
"""
_FOUR_ROWS = """\
  const int n = 4 * (blockIdx.x * warps + warp_id);
  if (n + 3 >= N) return;
  float sums[4] = {};
  for (int k = lane_id; k < K; k += WARP_SIZE) {
    const float x_met = to_float(x[k]);
    #pragma unroll
    for (int r = 0; r < 4; ++r) sums[r] += to_float(W[static_cast<size_t>(n + r) * K + k]) * x_met;
  }
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const float sum = warp_reduce_sum(sums[r]);
    if (lane_id == 0) y[n + r] = static_cast<X_T>(sum);
  }
}
"""
_HALF_A_WARP = """\
  const int n = 2 * (blockIdx.x * warps + warp_id) + lane_id / 16;
  float sum = 0.0f;
  if (n < N) {
    const X_T* row = W + static_cast<size_t>(n) * K;
    for (int k = lane_id % 16; k < K; k += 16) sum += to_float(row[k]) * to_float(x[k]);
  }
  for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_down_sync(FULL_WARP, sum, offset);
  if (n < N && lane_id % 16 == 0) y[n] = static_cast<X_T>(sum);
}
"""
_FOUR_HALVES = """\
  const uint2* pieces = reinterpret_cast<const uint2*>(row);
  const uint2* x_pieces = reinterpret_cast<const uint2*>(x);
  for (int k = lane_id; k < K / 4; k += WARP_SIZE) {
    const uint2 w = pieces[k], v = x_pieces[k];
    const half2* w_pairs = reinterpret_cast<const half2*>(&w);
    const half2* x_pairs = reinterpret_cast<const half2*>(&v);
    for (int i = 0; i < 2; ++i) {
      const float2 a = __half22float2(w_pairs[i]), b = __half22float2(x_pairs[i]);
      sum += a.x * b.x + a.y * b.y;
    }
  }
"""
_HALF_SUMS = """\
  const half2* pairs = reinterpret_cast<const half2*>(row);
  const half2* x_pairs = reinterpret_cast<const half2*>(x_shared);
  half2 both = __float2half2_rn(0.0f);
  for (int k = lane_id; k < K / 2; k += WARP_SIZE) both = __hfma2(pairs[k], x_pairs[k], both);
  sum = __low2float(both) + __high2float(both);
"""
_FLOATS = """\
  __shared__ float x_floats[8192];
  for (int k = threadIdx.x; k < K; k += blockDim.x) x_floats[k] = to_float(x[k]);
  __syncthreads();
"""
_BY_FLOATS = """\
  for (int k = lane_id; k < K; k += WARP_SIZE) sum += to_float(row[k]) * x_floats[k];
"""
_UNROLLED = """\
  #pragma unroll 8
  for (int k = lane_id; k < K; k += WARP_SIZE) sum += to_float(row[k]) * to_float(x_shared[k]);
"""
_TREE = """\
  __shared__ float parts[128];
  const int n = blockIdx.x;
  const X_T* row = W + static_cast<size_t>(n) * K;
  float sum = 0.0f;
  for (int k = threadIdx.x; k < K; k += blockDim.x) sum += to_float(row[k]) * to_float(x[k]);
  parts[threadIdx.x] = sum;
  for (int left = blockDim.x / 2; left > 0; left /= 2) {
    __syncthreads();
    if (threadIdx.x < left) parts[threadIdx.x] += parts[threadIdx.x + left];
  }
  if (threadIdx.x == 0) y[n] = static_cast<X_T>(parts[0]);
}
"""
_ROW_A_THREAD = """\
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= N) return;
  const uint4* fours = reinterpret_cast<const uint4*>(W + static_cast<size_t>(n) * K);
  float sum = 0.0f;
  for (int i = 0; i < K / 8; ++i) {
    const uint4 w = fours[i];
    const half2* pairs = reinterpret_cast<const half2*>(&w);
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 a = __half22float2(pairs[j]);
      sum += a.x * to_float(x_shared[8 * i + 2 * j]) + a.y * to_float(x_shared[8 * i + 2 * j + 1]);
    }
  }
  y[n] = static_cast<X_T>(sum);
}
"""


def of_text(name, change, shapes, launched, *parts):
    text = "".join((HEAD, *parts))
    return Variant(
        name,
        change,
        WeightFormat(16),
        lambda: load("gemv_a16w16_shared", replace={"gemv": text}),
        launched,
        shapes,
    )


_SQUARES = ((5120, 5120), (6144, 6144))
_USUAL = ((4096, 4096), (11008, 4096))
_TURNED = ((2048, 8192), (12288, 4096))

VARIANTS = (
    of_text("four rows a warp", "a warp takes four rows", _USUAL, (8, 32), _FOUR_ROWS),
    of_text("half a warp a row", "16 lanes take a row", _SQUARES, (8, 16), _HALF_A_WARP),
    of_text("four halves", "a lane loads 8 bytes", _USUAL, (16, 16), ONE_ROW, _FOUR_HALVES, END),
    of_text(
        "sums of halves",
        "half2 adds up the products",
        _SQUARES,
        (8, 8),
        *(STAGE, ONE_ROW, _HALF_SUMS, END),
    ),
    of_text(
        "x in floats",
        "x lies in shared memory as floats",
        _TURNED,
        (8, 8),
        *(_FLOATS, ONE_ROW, _BY_FLOATS, END),
    ),
    of_text(
        "unrolled by eight",
        "a pragma unrolls the loop",
        _TURNED,
        (16, 16),
        *(STAGE, ONE_ROW, _UNROLLED, END),
    ),
    of_text(
        "a tree", "4 warps share a row and add up in a tree of barriers", _USUAL, (4, 1), _TREE
    ),
    of_text(
        "a row a thread, 16 bytes",
        "a thread takes a row, 16 bytes at once",
        _USUAL,
        (4, 128),
        *(STAGE, _ROW_A_THREAD),
    ),
)
