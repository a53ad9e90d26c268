__host__ __device__ constexpr float offset_of(int f) { return f % 2 == 1 ? 64.0f : 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t down = f < 2 ? pairs : pairs >> 8;
  if (f % 2 == 1) return as_half2(and_or(down, 0x00F000F0, 0x54005400));
  return __hsub2(as_half2(and_or(down, 0x000F000F, 0x64006400)), as_half2(0x64006400));
}
