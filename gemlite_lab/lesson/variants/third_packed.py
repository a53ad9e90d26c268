"""Kernels for packed weights, written after the calibration."""

from gemlite_lab.lesson.variants.later_packed import of_text, relaunched
from gemlite_lab.lesson.variants.own_kernels import CODE, END, ONE_ROW, STAGE

_TWO_TILES = f"""\
  float other = 0.0f;
  for (int tile = 0; tile < num_tiles; tile += 2) {{
    const uint32_t first = row[tile * WARP_SIZE + lane_id];
    const uint32_t second = tile + 1 < num_tiles ? row[(tile + 1) * WARP_SIZE + lane_id] : 0u;
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const uint32_t word = first;
      const float x_met = to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
      sum += (static_cast<float>({CODE}) - zero) * x_met;
    }}
    if (tile + 1 == num_tiles) break;
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const uint32_t word = second;
      const float x_met = to_float(x_shared[(tile + 1) * TILE + j * WARP_SIZE + lane_id]);
      other += (static_cast<float>({CODE}) - zero) * x_met;
    }}
  }}
  sum += other;
"""
_UNSHARED = f"""\
  for (int tile = 0; tile < num_tiles; ++tile) {{
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const float x_met = to_float(x[tile * TILE + j * WARP_SIZE + lane_id]);
      sum += (static_cast<float>({CODE}) - zero) * x_met;
    }}
  }}
"""
_MAGIC = f"""\
  for (int tile = 0; tile < num_tiles; ++tile) {{
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const uint16_t bits = 0x6400u | {CODE};  // the half 1024 + code
      const float weight = __half2float(__ushort_as_half(bits)) - 1024.0f - zero;
      sum += weight * to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
    }}
  }}
"""
_SCALED = f"""\
  const float scale = scales[n];
  for (int tile = 0; tile < num_tiles; ++tile) {{
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const float weight = scale * (static_cast<float>({CODE}) - zero);
      sum += weight * to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
    }}
  }}
  sum = warp_reduce_sum(sum);
  if (lane_id == 0) y[n] = static_cast<X_T>(sum);
}}
"""
_ROLLED = f"""\
  for (int tile = 0; tile < num_tiles; ++tile) {{
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    #pragma unroll 1
    for (int j = 0; j < CODES; ++j) {{
      const float x_met = to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
      sum += (static_cast<float>({CODE}) - zero) * x_met;
    }}
  }}
"""
_TWO_WARPS_A_ROW = f"""\
  __shared__ float parts[32];
  const int n = blockIdx.x * (warps / 2) + warp_id / 2, row_of = min(n, N - 1);
  const uint32_t* row = W_packed + static_cast<size_t>(row_of) * num_tiles * WARP_SIZE;
  const float zero = zeros[row_of];
  float sum = 0.0f;
  for (int tile = warp_id % 2; tile < num_tiles; tile += 2) {{
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const float x_met = to_float(x_shared[tile * TILE + j * WARP_SIZE + lane_id]);
      sum += (static_cast<float>({CODE}) - zero) * x_met;
    }}
  }}
  sum = warp_reduce_sum(sum);
  if (lane_id == 0) parts[warp_id] = sum;
  __syncthreads();
  if (n < N && warp_id % 2 == 0 && lane_id == 0) {{
    y[n] = static_cast<X_T>((parts[warp_id] + parts[warp_id + 1]) * scales[n]);
  }}
}}
"""
_FLOATS = """\
  __shared__ float x_floats[9728];
  for (int k = threadIdx.x; k < num_tiles * TILE; k += blockDim.x) {
    x_floats[k] = k < K ? to_float(x[k]) : 0.0f;
  }
  __syncthreads();
"""
_BY_FLOATS = f"""\
  for (int tile = 0; tile < num_tiles; ++tile) {{
    const uint32_t word = row[tile * WARP_SIZE + lane_id];
    #pragma unroll
    for (int j = 0; j < CODES; ++j) {{
      const float x_met = x_floats[tile * TILE + j * WARP_SIZE + lane_id];
      sum += (static_cast<float>({CODE}) - zero) * x_met;
    }}
  }}
"""
_ODD, _TURNED = ((3584, 3584), (9728, 2560)), ((2560, 9728), (5120, 4096))

VARIANTS = (
    of_text(
        "two tiles a turn",
        "a lane takes two words and has two sums",
        4,
        _ODD,
        (8, 8),
        STAGE,
        ONE_ROW,
        _TWO_TILES,
        END,
    ),
    of_text(
        "x unshared, 8 bits",
        "a warp reads x from global memory",
        8,
        _TURNED,
        (4, 4),
        ONE_ROW,
        _UNSHARED,
        END,
    ),
    of_text(
        "1024 + code",
        "a code becomes a number by its bits in a half",
        4,
        _ODD,
        (16, 16),
        STAGE,
        ONE_ROW,
        _MAGIC,
        END,
    ),
    of_text(
        "scaled weights",
        "each weight is scaled, not the sum",
        8,
        _ODD,
        (8, 8),
        STAGE,
        ONE_ROW,
        _SCALED,
    ),
    of_text(
        "a loop of codes",
        "a pragma keeps the loop over a word's codes",
        4,
        _TURNED,
        (8, 8),
        STAGE,
        ONE_ROW,
        _ROLLED,
        END,
    ),
    of_text(
        "two warps a packed row",
        "two warps share a row",
        4,
        _TURNED,
        (16, 8),
        STAGE,
        _TWO_WARPS_A_ROW,
    ),
    of_text(
        "x in floats, 2 bits",
        "x lies in shared memory as floats",
        2,
        _TURNED,
        (16, 16),
        _FLOATS,
        ONE_ROW,
        _BY_FLOATS,
        END,
    ),
    relaunched("4 warps, 5 bits", "a block has 4 warps", 5, _TURNED, (4, 4), "gemv_a16wn_fp32"),
    relaunched("16 warps, float4", "a block has 16 warps", 8, _ODD, (16, 16), "gemv_a16wn_float4"),
    relaunched("4 warps, dp4a", "a block has 4 warps", 8, _TURNED, (4, 4), "gemv_a8wn_dp4a"),
)
