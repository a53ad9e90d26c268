// diagnosis: codes 0 to 7 are given the levels of 15 to 8 with a minus: they are no mirror image
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__constant__ float UPPER[8] = {0.07959f, 0.16089f, 0.24609f, 0.33789f,
                               0.44067f, 0.5625f,  0.72314f, 1.0f};

__device__ half level(uint32_t code) {
  return __float2half(code < 8 ? -UPPER[7 - code] : UPPER[code - 8]);
}

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  return __halves2half2(level(pairs >> 4 * f & 15), level(pairs >> (16 + 4 * f) & 15));
}
