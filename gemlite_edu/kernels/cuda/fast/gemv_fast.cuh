// The skeleton of the GEMV at the memory limit: y^T = W x^T on tensor cores, ROWS <= 8 rows of x at
// once. Over the groups i of k, before y is finished with whatever is there of the last three,
//
//   y[m, n] = sum of scales[i, n] * (sum of W_q[n, k] * x[m, k] - zeros[i, n] * sum of x[m, k])
//
//   x              (M, K)       X_T, half or __nv_bfloat16; K a multiple of 8, aligned to 16 bytes
//   W_packed       (N, K)       words of packing/plane_tiles.py, or of packing/piece_tiles.py where
//                               W_NBITS does not divide 16; aligned likewise
//   scales, zeros  (groups, N)  SCALE_T, ZERO_T; a MODE without one leaves it out
//   levels         (count)      float, null if the text in prepare_pairs takes none
//   y              (M, N)       Y_T: * channel_scales (N) CHANNEL_T * token_scales (M) + bias (N) BIAS_T
//
// A step is STEP codes along k of TILE_N outputs, for one warp: gemv_fast_blocks.cuh. Lane 4 g + t
// takes rows g and g + 8 of every 16 and the codes 4 t to 4 t + 3 of every 16 along k: which k comes
// when is up to us.
// The including file defines dequant_pair, offset_of, and prepare_pairs, which may take the levels.
// claim: x 16 sectors/request, W_packed 16 or 8 sectors/request, scales 1 or 2 sectors/request
#pragma once
#include "tensor_core.cuh"

constexpr int PLANE = 16;                                  // k of one multiply_add
constexpr int FIELDS = 16 / W_NBITS, REST = 16 % W_NBITS;  // codes of a half of a pair; bits left
// The planes of a step: as few as fill whole words, of 16 bits where W_NBITS is no other power of two.
constexpr int PLANES = (W_NBITS == 1 || REST ? 16 : 32) / (W_NBITS & -W_NBITS), STEP = PLANES * PLANE;
constexpr bool has_offsets(int f) {
  return f < FIELDS && (offset_of(f) != 0.0f || has_offsets(f + 1));
}
constexpr bool OFFSETS = has_offsets(0);
constexpr bool has_one_offset(int f) {
  return f == FIELDS || (offset_of(f) == offset_of(0) && has_one_offset(f + 1));
}
static_assert(!ONE_OFFSET || has_one_offset(0), "ONE_OFFSET is for codes with the same offset in all fields");
constexpr int PART = GROUP_SIZE < STEP ? GROUP_SIZE : STEP;  // of a step, with one scale
constexpr int PARTS = STEP / PART, STEPS_PER_GROUP = GROUP_SIZE / PART;
constexpr int THREADS = WARPS * WARP_SIZE, TILE_N = 16 * TILES;

#include "gemv_fast_bytes.cuh"
#include "gemv_fast_w.cuh"
#include "gemv_fast_sums.cuh"

constexpr int TURN = SHARERS == 4 ? 2 : 1, TURN_SLOTS = SHARERS == 1 ? 2 : 1;  // of parts, of slots
using Totals = float[TILES][TURN_SLOTS][2];

// x that a lane multiplies a plane by: zeros, unread, where nobody reads the column that it makes.
__device__ inline uint2 own_x(const uint4* x_shared, int lane_x, int plane) {
  const bool is_read = !HALF_READS || threadIdx.x % WARP_SIZE < WARP_SIZE / 2;
  return is_read ? met_x(x_shared, lane_x, plane) : make_uint2(0, 0);
}

// Adds the products of a plane of codes with x to dots: [row g or g + 8][column 2 t or 2 t + 1].
__device__ inline void multiply_plane(const Step& step, uint2 met, int plane,
                                      float dots[TILES][2][2]) {
  const int f = field_of(plane);
  #pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
    const RowWords row = step.words[tile][0], row_8 = step.words[tile][1];
    multiply_add(dots[tile][0], dequant_pair(pairs_of(row, plane, 0), f),
                 dequant_pair(pairs_of(row_8, plane, 0), f),
                 dequant_pair(pairs_of(row, plane, 1), f),
                 dequant_pair(pairs_of(row_8, plane, 1), f), met.x, met.y);
  }
}

// The same of this plane and the next where a byte has both codes of a neighbour along k: pairs of
// planes, neighbour by neighbour, where above they are pairs of neighbours.
template <typename Codes>
__device__ inline void multiply_bytes(const Step& step, uint2 met, uint2 met_next, int plane,
                                      float dots[TILES][2][2]) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint32_t x = i == 0 ? met.x : met.y, next = i == 0 ? met_next.x : met_next.y;
    const int k = 2 * i;
    #pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
      const RowWords row = step.words[tile][0], row_8 = step.words[tile][1];
      multiply_add(dots[tile][0], dequant_pair(byte_of<Codes>(row, plane, k)),
                   dequant_pair(byte_of<Codes>(row_8, plane, k)),
                   dequant_pair(byte_of<Codes>(row, plane, k + 1)),
                   dequant_pair(byte_of<Codes>(row_8, plane, k + 1)),
                   __byte_perm(x, next, 0x5410), __byte_perm(x, next, 0x7632));
    }
  }
}

// Adds a step's share to totals; lane_x, x_parts: where those of the step begin.
__device__ inline void add_step(const Step& step, const uint4* x_shared, int lane_x,
                                const XPart* x_parts, Totals& totals) {
  constexpr int PART_PLANES = PART / PLANE;
  const int t = threadIdx.x % 4, share = share_of(t);
  #pragma unroll
  for (int part = 0; part < PARTS; part += TURN) {
    float dots[TURN][TILES][2][2] = {};
    #pragma unroll
    for (int i = 0; i < TURN * PART_PLANES; ++i) {
      const int plane = part * PART_PLANES + i;
      if (plane > 0 && is_in_bytes(plane - 1)) continue;  // it came with the plane before
      const uint2 met = own_x(x_shared, lane_x, plane);
      if constexpr (IN_BYTES) {
        if (is_in_bytes(plane)) {
          const uint2 met_next = own_x(x_shared, lane_x, plane + 1);
          multiply_bytes<InByte>(step, met, met_next, plane, dots[i / PART_PLANES]);
          continue;
        }
      }
      multiply_plane(step, met, plane, dots[i / PART_PLANES]);
    }
    #pragma unroll
    for (int i = 0; i < TURN_SLOTS * TILES * 2; ++i) {
      const int slot = i / (TILES * 2), tile = i / 2 % TILES, m = i % 2;
      if (m >= ROWS) continue;
      float dot = 0.0f;
      #pragma unroll
      for (int other = 0; other < SHARERS; ++other) {
        const int own = slot * SHARERS + other;
        if (share == other) dot = dots[own / 2][tile][own % 2][m];
      }
      const int own_part = part + (slot * SHARERS + share) / 2;
      const XPart sums = x_parts[own_part * ROWS + 2 * t % ROWS + m];
      if (OFFSETS) dot -= offsets_of(sums);
      const float sum = weighted(dot, step, tile, part * 2 / SHARERS + slot, sum_of(sums));
      totals[tile][slot][m] += power_of(sums) * sum;
    }
  }
}

__device__ inline void hand_in(Totals& totals, float* partial) {
  const int lane_id = threadIdx.x % WARP_SIZE, g = lane_id / 4, t = lane_id % 4;
  partial += (share_of(t) % 2 * 8 + g) * ROWS + 2 * t % ROWS;
  #pragma unroll
  for (int i = 0; i < TILES * TURN_SLOTS * 2; ++i) {
    const int tile = i / (TURN_SLOTS * 2), slot = i / 2 % TURN_SLOTS, m = i % 2;
    float total = totals[tile][slot][m];
    if (SHARERS == 4) total += __shfl_xor_sync(FULL_WARP, total, 2);
    if (m < ROWS && (ROWS > 2 || t < 2)) partial[(tile * 16 + slot * 8) * ROWS + m] = total;
    totals[tile][slot][m] = 0.0f;
  }
}

#include "gemv_fast_blocks.cuh"
