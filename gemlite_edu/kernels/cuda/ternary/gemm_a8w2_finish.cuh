// The part of gemm_a8w2_fast.cu that makes y of sums. Of a tile whose steps SPLITS blocks share out,
// each lays its sums out in its own shared memory. Block m % SPLITS adds up those of token m, which it
// reads from all of them, and writes that row of y.
#pragma once
#include <type_traits>

#include "cluster.cuh"

// A block's sums. 4: lanes of a warp write to banks of their own.
using Room = int[TOKENS][OUTPUTS + 4];

__device__ inline void meet_cluster() {
  if constexpr (SPLITS == 1) {
    __syncthreads();
  } else {
    cluster_arrive();
    cluster_wait();
  }
}

__device__ inline void lay_out(Room& room, const Sums& sums) {
  #pragma unroll
  for (int i = 0; i < COLUMNS * 2; ++i) {
    const int token = i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2;
    int of_token[LANE_OUTPUTS];
    #pragma unroll
    for (int j = 0; j < LANE_OUTPUTS; ++j) of_token[j] = sums[j / 2][i / 2][j % 2 * 2 + i % 2];
    Words bits;
    memcpy(&bits, of_token, sizeof(bits));
    *reinterpret_cast<Words*>(&room[token][lane_output()]) = bits;
  }
}

// y, and what it is scaled with unless it is int.
struct Output {
  const float* scales;
  const float* token_scales;
  Y_T* y;
  int M, N;
};
using FourOutputs = std::conditional_t<sizeof(Y_T) == 4, uint4, uint2>;

__device__ inline Y_T output_of(int sum, float token_scale, float scale) {
  const int unscaled = sum >> WEIGHT_SHIFT;
  if constexpr (std::is_same_v<Y_T, int>) return unscaled;
  return static_cast<Y_T>(static_cast<float>(unscaled) * (token_scale * scale));
}

// Four neighbours of a row of y. Unless N is in fours, y may have fewer of them.
template <bool is_in_fours>
__device__ inline void write_four(const Y_T (&outputs)[4], const Output& to, int m, int n) {
  Y_T* y = &to.y[static_cast<size_t>(m) * to.N + n];
  if constexpr (is_in_fours) {
    FourOutputs bits;
    memcpy(&bits, outputs, sizeof(bits));
    if (m < to.M) *reinterpret_cast<FourOutputs*>(y) = bits;
  } else {
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (m < to.M && n + j < to.N) y[j] = outputs[j];
    }
  }
}

// A thread finishes four outputs of one token after the other.
template <bool is_in_fours>
__device__ inline void add_up(Room& room, const Share& own, const Output& to) {
  constexpr int FOURS = OUTPUTS / 4;
  const int column = threadIdx.x % FOURS * 4, n = own.first_n + column;
  if (n >= to.N) return;
  float scales[4];
  #pragma unroll
  for (int j = 0; j < 4; ++j) scales[j] = __ldg(&to.scales[min(n + j, to.N - 1)]);
  #pragma unroll 4
  for (int row = threadIdx.x / FOURS; row < TOKENS / SPLITS; row += THREADS / FOURS) {
    const int token = row * SPLITS + own.split, m = own.first_m + token;
    const float token_scale = __ldg(&to.token_scales[min(m, to.M - 1)]);
    int sums[4] = {};
    #pragma unroll
    for (int split = 0; split < SPLITS; ++split) {
      int* from = &room[token][column];
      if constexpr (SPLITS > 1) from = in_block(from, split);
      const int4 given = *reinterpret_cast<const int4*>(from);
      sums[0] += given.x, sums[1] += given.y, sums[2] += given.z, sums[3] += given.w;
    }
    Y_T outputs[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) outputs[j] = output_of(sums[j], token_scale, scales[j]);
    write_four<is_in_fours>(outputs, to, m, n);
  }
}

__device__ inline void write_rows(Room& room, const Share& own, const Output& to) {
  to.N % 4 == 0 ? add_up<true>(room, own, to) : add_up<false>(room, own, to);
}
