__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t down = pairs >> (f & 2) * 4;
  if (f & 1) return as_half2((down & 0x00F000F0) | 0x54005400) - __float2half2_rn(64.0f);
  return as_half2((down & 0x000F000F) | 0x64006400) - __float2half2_rn(1024.0f);
}
