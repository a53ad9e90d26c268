// diagnosis: the mask comes before the shift
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = (pairs & 0x000F000F) >> 4 * f;
  return __hsub2(as_half2(codes | 0x64006400), __float2half2_rn(1024.0f));
}
