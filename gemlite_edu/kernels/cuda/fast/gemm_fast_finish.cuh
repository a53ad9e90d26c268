// The part of gemm_fast.cuh that adds up what groups of warps have, and the SPLITS blocks that share
// out K: each hands the sums of row m of its tile to block m % SPLITS, which finishes that row.
#pragma once
#include <type_traits>

// In a block, of the groups of all blocks: (splits * WARPS_K, ROWS / splits, SUM_STRIDE).
template <int splits>
__device__ inline void hand_out(Shared& shared, Share own, const Totals& totals, int group,
                                int warp_n) {
  const int giver = own.split * WARPS_K + group, t = threadIdx.x % 4;
  #pragma unroll
  for (int i = 0; i < COLUMNS * 2; ++i) {
    const int m = i / 2 * 8 + 2 * t + i % 2, place = giver * (ROWS / splits) + m / splits;
    float* sums = splits == 1 ? shared.sums() : in_block(shared.sums(), m % splits);
    #pragma unroll
    for (int j = 0; j < TILES * 2; ++j) {
      sums[place * SUM_STRIDE + row_of(warp_n, j)] = totals[j / 2][i / 2][j % 2 * 2 + i % 2];
    }
  }
}

// y, and what it is finished with where it is there.
struct Output {
  const CHANNEL_T* channel_scales;
  const float* token_scales;
  const BIAS_T* bias;
  Y_T* y;
  int M, N;
};
using FourOutputs = std::conditional<sizeof(Y_T) == 4, uint4, uint2>::type;

template <int splits>
__device__ inline void finish(Shared& shared, Share own, Output to) {
  constexpr int FOURS = BLOCK_N / 4, OWN_ROWS = ROWS / splits;
  #pragma unroll 4
  for (int i = threadIdx.x; i < OWN_ROWS * FOURS; i += THREADS) {
    const int row = i / FOURS, column = i % FOURS * 4, n = own.first_n + column;
    const int m = own.row_block * ROWS + row * splits + own.split;
    if (m >= to.M || n >= to.N) continue;
    float sums[4] = {};
    #pragma unroll
    for (int giver = 0; giver < splits * WARPS_K; ++giver) {
      const float* from = &shared.sums()[(giver * OWN_ROWS + row) * SUM_STRIDE + column];
      const float4 given = *reinterpret_cast<const float4*>(from);
      sums[0] += given.x, sums[1] += given.y, sums[2] += given.z, sums[3] += given.w;
    }
    Y_T outputs[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (to.channel_scales) sums[j] *= static_cast<float>(to.channel_scales[n + j]);
      if (to.token_scales) sums[j] *= to.token_scales[m];
      if (to.bias) sums[j] += static_cast<float>(to.bias[n + j]);
      outputs[j] = static_cast<Y_T>(sums[j]);
    }
    FourOutputs bits;
    memcpy(&bits, outputs, sizeof(bits));
    *reinterpret_cast<FourOutputs*>(&to.y[static_cast<size_t>(m) * to.N + n]) = bits;
  }
}
