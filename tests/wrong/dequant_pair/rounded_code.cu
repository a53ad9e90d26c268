// diagnosis: It is none of the mistakes known here
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const float low = pairs >> 4 * f & 0xF, high = pairs >> (16 + 4 * f) & 0xF;
  return __floats2half2_rn(low * 1.001f, high * 1.001f);
}
