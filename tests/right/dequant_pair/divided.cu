__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const half2 magic = as_half2(0x64006400);
  const uint32_t down = f < 2 ? pairs : pairs >> 8;
  if (f % 2 == 0) return as_half2(and_or(down, 0x000F000F, 0x64006400)) - magic;
  return __h2div(as_half2(and_or(down, 0x00F000F0, 0x64006400)) - magic, __float2half2_rn(16.0f));
}
