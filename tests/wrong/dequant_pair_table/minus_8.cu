// diagnosis: 8 is taken off the codes, as if they were evenly spaced
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f;
  return __floats2half2_rn((codes & 15) - 8.0f, (codes >> 16 & 15) - 8.0f);
}
