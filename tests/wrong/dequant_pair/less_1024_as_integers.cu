// diagnosis: there is no exponent: a code alone, as a half, is 2^-24 times itself
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t bits = and_or(pairs >> 4 * f, 0x000F000F, 0x64006400);
  return as_half2(bits - 0x64006400);
}
