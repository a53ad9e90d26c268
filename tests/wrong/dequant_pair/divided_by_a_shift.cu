// diagnosis: fields 1 and 3 are multiplied by 0, as 1 / 16 is, a division of integers
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const int place = 4 * (f % 2);
  const uint32_t bits = and_or(pairs >> (4 * f - place), 0x000F000F << place, 0x64006400);
  const float down = 1 / (1 << place);
  return __hfma2(as_half2(bits), __float2half2_rn(down), __float2half2_rn(-1024 * down));
}
