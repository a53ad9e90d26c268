// diagnosis: && takes the place of &: it gives 1 or 0
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f && 0x000F000F;
  return __hsub2(as_half2(codes | 0x64006400), __float2half2_rn(1024.0f));
}
