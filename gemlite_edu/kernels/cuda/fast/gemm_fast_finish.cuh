// The part of gemm_fast.cuh that makes y of sums, some neighbours of a row at once.
#pragma once

// y, and what it is finished with where it is there.
struct Output {
  const CHANNEL_T* channel_scales;
  const float* token_scales;
  const BIAS_T* bias;
  Y_T* y;
  int M, N;
};

// `width` neighbours of a row of y, from column n on.
template <int width>
struct Columns {
  struct alignas(sizeof(Y_T) * width) Outputs {
    Y_T y[width];
  };
  const Output& of;
  int n;
  float scales[width], bias[width];

  __device__ Columns(const Output& output, int column) : of(output), n(column) {
    #pragma unroll
    for (int j = 0; j < width; ++j) {
      scales[j] = of.channel_scales ? static_cast<float>(of.channel_scales[n + j]) : 1.0f;
      bias[j] = of.bias ? static_cast<float>(of.bias[n + j]) : 0.0f;
    }
  }

  __device__ void write(const float (&sums)[width], int m) const {
    const float token_scale = of.token_scales ? of.token_scales[m] : 1.0f;
    Outputs outputs;
    #pragma unroll
    for (int j = 0; j < width; ++j) {
      outputs.y[j] = static_cast<Y_T>(sums[j] * scales[j] * token_scale + bias[j]);
    }
    *reinterpret_cast<Outputs*>(&of.y[static_cast<size_t>(m) * of.N + n]) = outputs;
  }
};
