// The part of gemm_fast.cuh that multiplies, for 16 rows of x: codes go to the tensor cores with
// their offset. What they add up meets scale, zero and the sums of x in fp32, once for each part.
#pragma once

struct Lane {
  int warp_n;
};
__device__ inline Lane lane_at(const Shared&, int warp_n) { return {warp_n}; }

// Products are there when add_step returns.
constexpr int LAG = 0;
__device__ inline void settle(Totals&) {}

// One copy: the image of x lies as stages have it.
__device__ inline void bring_rows(uint4* to, const Operands& from, int row_block, int place,
                                  const Problem& of, uint64_t* full) {
  const size_t step = static_cast<size_t>(row_block) * of.steps + place;
  barrier_arrive_expecting(full, X_BYTES);
  bulk_copy(to, &from.scratch[step * X_BYTES], X_BYTES, full);
}

// The sums of x over the parts of a step, (PARTS, ROWS), lie behind it.
__device__ inline const float* x_sums_of(const Stage& from) {
  return reinterpret_cast<const float*>(&from.x[ROWS * TILE_K * 2 / 16]);
}

__device__ inline void add_part(const Stage& from, int part, int warp_n, const Totals& dots,
                                Totals& totals) {
  #pragma unroll
  for (int i = 0; i < TILES * 2; ++i) {
    const int row = row_of(warp_n, i);
    const float scale = HAS_SCALES ? static_cast<float>(from.scales[part][row]) : 1.0f;
    const float zero = HAS_ZEROS ? static_cast<float>(from.zeros[part][row]) : 0.0f;
    #pragma unroll
    for (int c = 0; c < COLUMNS * 2; ++c) {
      const float x_sum = x_sums_of(from)[part * ROWS + c / 2 * 8 + threadIdx.x % 4 * 2 + c % 2];
      const float dot = dots[i / 2][c / 2][i % 2 * 2 + c % 2];
      float& total = totals[i / 2][c / 2][i % 2 * 2 + c % 2];
      total += scale * (dot - (MODE == FMA ? OFFSET : zero + OFFSET) * x_sum);
      if (MODE == FMA) total += zero * x_sum;
    }
  }
}

// Adds a step's share to totals.
__device__ inline void add_step(const Stage& from, int, const Lane& lane, Totals& totals) {
  const int warp_n = lane.warp_n;
  const int g = threadIdx.x % WARP_SIZE / 4, t = threadIdx.x % 4;
  RowWords words[TILES * 2];
  load_words(from.words, warp_n, words);
  #pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    Totals dots = {};
    uint4 met[COLUMNS];  // of x, for two planes
    #pragma unroll
    for (int plane = part * (PART / PLANE); plane < (part + 1) * (PART / PLANE); ++plane) {
      const bool is_second = plane % 2 == 1;
      #pragma unroll
      for (int c = 0; c < COLUMNS; ++c) {
        if (!is_second) met[c] = from.x[(plane / 2 * ROWS + c * 8 + g) * 4 + t];
      }
      #pragma unroll
      for (int tile = 0; tile < TILES; ++tile) {
        half2 codes[4];
        dequant_plane(&words[tile * 2], plane, codes);
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
          multiply_add(dots[tile][c], codes[0], codes[1], codes[2], codes[3],
                       is_second ? met[c].z : met[c].x, is_second ? met[c].w : met[c].y);
        }
      }
    }
    add_part(from, part, warp_n, dots, totals);
  }
}
