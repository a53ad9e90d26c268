"""Whole kernels for packed weights as learners write them: see `one_row_kernel`."""

from gemlite_lab.bench.problem import WeightFormat
from gemlite_lab.lesson.variants.variant import Variant, written

HEAD = """\
__global__ void __launch_bounds__(MAX_THREADS_PER_BLOCK)
gemv(const X_T* x, const uint32_t* W_packed, const float* scales, const float* zeros, X_T* y, int N,
     int K) {
  extern __shared__ X_T x_shared[];
  constexpr int NBITS = $NBITS, CODES = 32 / NBITS, TILE = CODES * WARP_SIZE;
  constexpr uint32_t MASK = (1u << NBITS) - 1u;
  const int lane_id = threadIdx.x % WARP_SIZE, warp_id = threadIdx.x / WARP_SIZE;
  const int warps = blockDim.x / WARP_SIZE, num_tiles = ceil_div(K, TILE);
"""
STAGE = "  stage_to_shared(x, x_shared, K, num_tiles * TILE);\n"
ONE_ROW = """\
  const int n = blockIdx.x * warps + warp_id;
  if (n >= N) return;
  const uint32_t* row = W_packed + static_cast<size_t>(n) * num_tiles * WARP_SIZE;
  const float zero = zeros[n];
  float sum = 0.0f;
"""
CODE = "(word >> (32 - NBITS * (j + 1)) & MASK)"
END = """\
  sum = warp_reduce_sum(sum);
  if (lane_id == 0) y[n] = static_cast<X_T>(sum * scales[n]);
}
"""
_OWN_WORDS = """\
  for (int i = 0; i < num_tiles; ++i) {  // neighbours in the row, not every 32nd word
    const int at = lane_id * num_tiles + i, k = at / WARP_SIZE * TILE + at % WARP_SIZE;
    const uint32_t word = row[at];
    for (int j = 0; j < CODES; ++j) {
      const uint32_t code = word >> (32 - NBITS * (j + 1)) & MASK;
      sum += (static_cast<float>(code) - zero) * to_float(x_shared[k + j * WARP_SIZE]);
    }
  }
"""
_WORD_BY_TWO = """\
  for (int i = lane_id; i < 2 * num_tiles * WARP_SIZE; i += WARP_SIZE) {  // half a word a turn
    const int at = i / 2, k = at / WARP_SIZE * TILE + at % WARP_SIZE, half_of_it = i % 2;
    const uint32_t word = row[at];
    for (int j = half_of_it * CODES / 2; j < (half_of_it + 1) * CODES / 2; ++j) {
      const uint32_t code = word >> (32 - NBITS * (j + 1)) & MASK;
      sum += (static_cast<float>(code) - zero) * to_float(x_shared[k + j * WARP_SIZE]);
    }
  }
"""
_TABLE = """\
  __shared__ float levels[MASK + 1];
  if (threadIdx.x <= MASK) levels[threadIdx.x] = static_cast<float>(threadIdx.x);
"""
_BY_TABLE = """\
  for (int tile = 0; tile < num_tiles; ++tile) {
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {
      const uint32_t code = word >> (32 - NBITS * (j + 1)) & MASK;
      sum += (levels[code] - zero) * to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
    }
  }
"""
_CODE_A_LANE = """\
  for (int k = lane_id; k < K; k += WARP_SIZE) {  // the word anew for each of its codes
    const int j = k % TILE / WARP_SIZE;
    const uint32_t word = row[k / TILE * WARP_SIZE + lane_id];
    const uint32_t code = word >> (32 - NBITS * (j + 1)) & MASK;
    sum += (static_cast<float>(code) - zero) * to_float(x_shared[k]);
  }
"""
_TWO_ROWS = """\
  const int n = 2 * (blockIdx.x * warps + warp_id);
  if (n + 1 >= N) return;
  const uint32_t* row = W_packed + static_cast<size_t>(n) * num_tiles * WARP_SIZE;
  const float zero = zeros[n], next_zero = zeros[n + 1];
  float sum = 0.0f, next_sum = 0.0f;
  for (int tile = 0; tile < num_tiles; ++tile) {
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    const uint32_t next = row[(num_tiles + tile) * WARP_SIZE + lane_id];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {
      const float x_met = to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
      sum += (static_cast<float>(word >> (32 - NBITS * (j + 1)) & MASK) - zero) * x_met;
      next_sum += (static_cast<float>(next >> (32 - NBITS * (j + 1)) & MASK) - next_zero) * x_met;
    }
  }
  sum = warp_reduce_sum(sum);
  next_sum = warp_reduce_sum(next_sum);
  if (lane_id == 0) {
    y[n] = static_cast<X_T>(sum * scales[n]);
    y[n + 1] = static_cast<X_T>(next_sum * scales[n + 1]);
  }
}
"""
_BLOCK_A_ROW = """\
  __shared__ float parts[WARP_SIZE];
  const int n = blockIdx.x;
  const uint32_t* row = W_packed + static_cast<size_t>(n) * num_tiles * WARP_SIZE;
  const float zero = zeros[n];
  float sum = 0.0f;
  for (int tile = warp_id; tile < num_tiles; tile += warps) {
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {
      const uint32_t code = word >> (32 - NBITS * (j + 1)) & MASK;
      const int k = tile * TILE + j * WARP_SIZE + lane_id;
      sum += (static_cast<float>(code) - zero) * to_float(x[k]);
    }
  }
  sum = warp_reduce_sum(sum);
  if (lane_id == 0) parts[warp_id] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < warps; ++warp) sum += parts[warp];
    y[n] = static_cast<X_T>(sum * scales[n]);
  }
}
"""


def _text(nbits, *parts):
    return "".join((HEAD.replace("$NBITS", str(nbits)), *parts))


def _of(name, change, nbits, *parts, launched=None):
    return Variant(
        name, change, WeightFormat(nbits), written(nbits, _text(nbits, *parts)), launched
    )


VARIANTS = (
    _of("words of a lane", "a lane takes neighbouring words", 4, STAGE, ONE_ROW, _OWN_WORDS, END),
    _of("two lanes a word", "two lanes read each word", 4, STAGE, ONE_ROW, _WORD_BY_TWO, END),
    _of(
        "a table",
        "a code is looked up in shared memory",
        4,
        _TABLE,
        STAGE,
        ONE_ROW,
        _BY_TABLE,
        END,
    ),
    _of(
        "a code a turn",
        "a lane reads its word again for each code",
        8,
        STAGE,
        ONE_ROW,
        _CODE_A_LANE,
        END,
    ),
    _of("two rows a warp", "a warp takes two rows", 4, STAGE, _TWO_ROWS, launched=(16, 32)),
    _of(
        "a block a row",
        "8 warps share a row, and read x from global memory",
        4,
        _BLOCK_A_ROW,
        launched=(8, 1),
    ),
)
