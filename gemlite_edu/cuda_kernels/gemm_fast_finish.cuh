// The part of gemm_fast.cuh that adds up what groups of warps and the blocks of a cluster have: each
// hands the sums of row m of y to block m % S, which finishes that row.
#pragma once
#include <type_traits>

// In a block, of the groups of all S blocks: (S * WARPS_K, ROWS / S, SUM_STRIDE).
__device__ inline void hand_out(Shared& shared, const Totals& totals, int group, int warp_n) {
  const int splits = blocks_in_cluster(), shift = __ffs(splits) - 1, own_rows = ROWS >> shift;
  const int giver = rank_in_cluster() * WARPS_K + group, t = threadIdx.x % 4;
  #pragma unroll
  for (int i = 0; i < COLUMNS * 2; ++i) {
    const int m = i / 2 * 8 + 2 * t + i % 2, place = giver * own_rows + (m >> shift);
    float* to = in_block(shared.sums(), m & (splits - 1)) + place * SUM_STRIDE;
    #pragma unroll
    for (int j = 0; j < TILES * 2; ++j) {
      to[row_of(warp_n, j)] = totals[j / 2][i / 2][j % 2 * 2 + i % 2];
    }
  }
}

using FourOutputs = std::conditional<sizeof(Y_T) == 4, uint4, uint2>::type;

__device__ inline void finish(Shared& shared, Share own, const CHANNEL_T* channel_scales,
                              const float* token_scales, const BIAS_T* bias, Y_T* y, int M, int N) {
  constexpr int FOURS = BLOCK_N / 4;
  const int splits = blocks_in_cluster(), own_rows = ROWS / splits;
  for (int i = threadIdx.x; i < own_rows * FOURS; i += THREADS) {
    const int row = i / FOURS, column = i % FOURS * 4, n = own.first_n + column;
    const int m = own.first_m + row * splits + rank_in_cluster();
    if (m >= M || n >= N) continue;
    float sums[4] = {};
    for (int giver = 0; giver < splits * WARPS_K; ++giver) {
      const float* from = &shared.sums()[(giver * own_rows + row) * SUM_STRIDE + column];
      const float4 given = *reinterpret_cast<const float4*>(from);
      sums[0] += given.x, sums[1] += given.y, sums[2] += given.z, sums[3] += given.w;
    }
    Y_T outputs[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (channel_scales) sums[j] *= static_cast<float>(channel_scales[n + j]);
      if (token_scales) sums[j] *= token_scales[m];
      if (bias) sums[j] += static_cast<float>(bias[n + j]);
      outputs[j] = static_cast<Y_T>(sums[j]);
    }
    FourOutputs bits;
    memcpy(&bits, outputs, sizeof(bits));
    *reinterpret_cast<FourOutputs*>(&y[static_cast<size_t>(m) * N + n]) = bits;
  }
}
