// The part of gemm_fast.cuh that makes y of sums. Workers write the sums of some rows of x to the room,
// meet, and finish those rows; groups of warps along K, and blocks of a cluster, add up there.
#pragma once
#include <type_traits>

// y, and what it is finished with where it is there.
struct Output {
  const CHANNEL_T* channel_scales;
  const float* token_scales;
  const BIAS_T* bias;
  Y_T* y;
  int M, N;
};
using FourOutputs = std::conditional<sizeof(Y_T) == 4, uint4, uint2>::type;

// Four neighbours of a row of y, of columns n to n + 3.
struct Column {
  const Output& of;
  int n;
  float scales[4], bias[4];

  __device__ Column(const Output& output, int column) : of(output), n(column) {
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      scales[j] = of.channel_scales ? static_cast<float>(of.channel_scales[n + j]) : 1.0f;
      bias[j] = of.bias ? static_cast<float>(of.bias[n + j]) : 0.0f;
    }
  }

  __device__ void write(float4 four, int m) const {
    const float sums[] = {four.x, four.y, four.z, four.w};
    const float token_scale = of.token_scales ? of.token_scales[m] : 1.0f;
    Y_T outputs[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      outputs[j] = static_cast<Y_T>(sums[j] * scales[j] * token_scale + bias[j]);
    }
    FourOutputs bits;
    memcpy(&bits, outputs, sizeof(bits));
    *reinterpret_cast<FourOutputs*>(&of.y[static_cast<size_t>(m) * of.N + n]) = bits;
  }
};

// Workers finish rows first, first + every, ... of a tile, whose sums lie in the room (givers, rows,
// SUM_STRIDE).
template <int givers, int rows>
__device__ inline void finish(const float* room, const Part& part, int first, int every,
                              const Output& to) {
  constexpr int FOURS = BLOCK_N / 4;
  const int column = threadIdx.x % FOURS * 4, n = part.first_n + column;
  if (n >= to.N) return;
  const Column outputs(to, n);
  const int first_m = part.row_block * ROWS + first;
  #pragma unroll 4
  for (int row = threadIdx.x / FOURS; row < rows; row += WORKER_THREADS / FOURS) {
    const int m = first_m + row * every;
    if (m >= to.M) break;
    float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    #pragma unroll
    for (int giver = 0; giver < givers; ++giver) {
      const float* from = &room[(giver * rows + row) * SUM_STRIDE + column];
      const float4 given = *reinterpret_cast<const float4*>(from);
      sums.x += given.x, sums.y += given.y, sums.z += given.z, sums.w += given.w;
    }
    outputs.write(sums, m);
  }
}
