// diagnosis: the codes are taken as evenly spaced from -1 to 1
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f;
  const float low = codes & 15, high = codes >> 16 & 15;
  return __floats2half2_rn(low * 2 / 15 - 1, high * 2 / 15 - 1);
}
