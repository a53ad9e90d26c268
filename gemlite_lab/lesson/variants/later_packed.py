"""Kernels for packed weights, recorded after the calibration."""

from gemlite_lab.bench.problem import WeightFormat
from gemlite_lab.lesson.variants.own_kernels import CODE, END, HEAD, ONE_ROW, STAGE
from gemlite_lab.lesson.variants.variant import Variant, edited, written

_WIDE_WORDS = f"""\
  const $VECTOR* wide = reinterpret_cast<const $VECTOR*>(row);
  for (int i = lane_id; i < num_tiles * WARP_SIZE / $WORDS; i += WARP_SIZE) {{
    const $VECTOR several = wide[i];
    const uint32_t* words = reinterpret_cast<const uint32_t*>(&several);
    #pragma unroll
    for (int c = 0; c < $WORDS; ++c) {{
      const int at = $WORDS * i + c, k = at / WARP_SIZE * TILE + at % WARP_SIZE;
      const uint32_t word = words[c];
      #pragma unroll
      for (int j = 0; j < CODES; ++j) {{
        sum += (static_cast<float>({CODE}) - zero) * to_float(x_shared[k + j * WARP_SIZE]);
      }}
    }}
  }}
"""
_ROWS = f"""\
  const int n = $ROWS * (blockIdx.x * warps + warp_id);
  if (n + $ROWS - 1 >= N) return;
  const uint32_t* row = W_packed + static_cast<size_t>(n) * num_tiles * WARP_SIZE;
  float sums[$ROWS] = {{}};
  for (int tile = 0; tile < num_tiles; ++tile) {{
    #pragma unroll
    for (int r = 0; r < $ROWS; ++r) {{
      const uint32_t word = row[(r * num_tiles + tile) * WARP_SIZE + lane_id];
      #pragma unroll
      for (int j = 0; j < CODES; ++j) {{
        const float x_met = to_float($X[tile * TILE + j * WARP_SIZE + lane_id]);
        sums[r] += (static_cast<float>({CODE}) - zeros[n + r]) * x_met;
      }}
    }}
  }}
  #pragma unroll
  for (int r = 0; r < $ROWS; ++r) {{
    const float sum = warp_reduce_sum(sums[r]);
    if (lane_id == 0) y[n + r] = static_cast<X_T>(sum * scales[n + r]);
  }}
}}
"""
_IN_HALVES = f"""\
  const half zero_half = __float2half(zero);
  for (int tile = 0; tile < num_tiles; ++tile) {{
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    half part = __float2half(0.0f);
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const half weight = __hsub(__uint2half_rn({CODE}), zero_half);
      part = __hfma(weight, x_shared[tile * TILE + j * WARP_SIZE + lane_id], part);
    }}
    sum += __half2float(part);
  }}
"""
_IN_PIECES = f"""\
  const int n = blockIdx.x * warps + warp_id, row_of = min(n, N - 1);
  const uint32_t* row = W_packed + static_cast<size_t>(row_of) * num_tiles * WARP_SIZE;
  const float zero = zeros[row_of];
  float sum = 0.0f;
  for (int first = 0; first < num_tiles; first += 4) {{  // four tiles of x at a time
    const int tiles = min(4, num_tiles - first);
    for (int k = threadIdx.x; k < tiles * TILE; k += blockDim.x) {{
      const int at = first * TILE + k;
      x_shared[k] = at < K ? x[at] : static_cast<X_T>(0.0f);
    }}
    __syncthreads();
    for (int tile = 0; tile < tiles; ++tile) {{
      const uint32_t word = row[(first + tile) * WARP_SIZE + lane_id];
      #pragma unroll
      for (int j = 0; j < CODES; ++j) {{
        const float x_met = to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
        sum += (static_cast<float>({CODE}) - zero) * x_met;
      }}
    }}
    __syncthreads();
  }}
  sum = warp_reduce_sum(sum);
  if (n < N && lane_id == 0) y[n] = static_cast<X_T>(sum * scales[n]);
}}
"""
_STAGED_WORDS = f"""\
  __shared__ uint32_t words[1024];
  for (int tile = 0; tile < num_tiles; ++tile) {{
    words[threadIdx.x] = row[tile * WARP_SIZE + lane_id];
    __syncwarp();
    const uint32_t word = words[threadIdx.x];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const float x_met = to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
      sum += (static_cast<float>({CODE}) - zero) * x_met;
    }}
  }}
"""
_NEXT_WORD = f"""\
  uint32_t next = row[lane_id];
  for (int tile = 0; tile < num_tiles; ++tile) {{
    const uint32_t word = next;
    if (tile + 1 < num_tiles) next = row[(tile + 1) * WARP_SIZE + lane_id];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const float x_met = to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
      sum += (static_cast<float>({CODE}) - zero) * x_met;
    }}
  }}
"""


def of_text(name, change, nbits, shapes, launched, *parts):
    text = HEAD.replace("$NBITS", str(nbits)) + "".join(parts)
    return Variant(name, change, WeightFormat(nbits), written(nbits, text), launched, shapes)


def relaunched(name, change, nbits, shapes, launched, base):
    return Variant(name, change, WeightFormat(nbits), edited(base, nbits), launched, shapes)


def _wide(vector, words):
    return _WIDE_WORDS.replace("$VECTOR", vector).replace("$WORDS", str(words))


def _rows(rows, x):
    return _ROWS.replace("$ROWS", str(rows)).replace("$X", x)


_SQUARES = ((5120, 5120), (6144, 6144))
_USUAL = ((4096, 4096), (11008, 4096))
_TURNED = ((4096, 11008), (12288, 4096))

VARIANTS = (
    of_text(
        "four words a load",
        "a lane loads four words at once",
        4,
        _SQUARES,
        (16, 16),
        *(STAGE, ONE_ROW, _wide("uint4", 4), END),
    ),
    of_text(
        "two words a load",
        "a lane loads two words at once",
        8,
        _USUAL,
        (8, 8),
        *(STAGE, ONE_ROW, _wide("uint2", 2), END),
    ),
    of_text(
        "two rows, x unshared",
        "a warp takes two rows and reads x from global memory",
        8,
        _SQUARES,
        (8, 16),
        _rows(2, "x"),
    ),
    of_text(
        "four rows, 2 bits",
        "a warp takes four rows",
        2,
        _USUAL,
        (4, 16),
        *(STAGE, _rows(4, "x_shared")),
    ),
    of_text(
        "in halves",
        "a word's products are halves",
        4,
        _TURNED,
        (8, 8),
        *(STAGE, ONE_ROW, _IN_HALVES, END),
    ),
    of_text(
        "x in pieces",
        "a block copies four tiles of x at a time",
        8,
        _TURNED,
        (16, 16),
        _IN_PIECES,
    ),
    of_text(
        "words in shared memory",
        "a warp copies its words to shared memory first",
        4,
        _USUAL,
        (8, 8),
        *(STAGE, ONE_ROW, _STAGED_WORDS, END),
    ),
    of_text(
        "the next word early",
        "a lane asks for its next word before it uses this one",
        4,
        _USUAL,
        (16, 16),
        *(STAGE, ONE_ROW, _NEXT_WORD, END),
    ),
    relaunched("2 warps, 3 bits", "a block has 2 warps", 3, _USUAL, (2, 2), "gemv_a16wn_fp32"),
    relaunched("8 warps, 6 bits", "a block has 8 warps", 6, _SQUARES, (8, 8), "gemv_a16wn_half2"),
    relaunched("16 warps, 1 bit", "a block has 16 warps", 1, _TURNED, (16, 16), "gemv_a8wn_int32"),
)
