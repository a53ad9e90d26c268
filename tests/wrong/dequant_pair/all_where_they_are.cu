// diagnosis: all fields stay where they are, and from bit 10 on a half has its exponent
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const int place = 4 * f;
  const half2 read = as_half2(and_or(pairs, 0x000F000F << place, 0x64006400));
  const float down = 1.0f / (1 << place);
  return __hmul2(__hsub2(read, __float2half2_rn(1024.0f)), __float2half2_rn(down));
}
