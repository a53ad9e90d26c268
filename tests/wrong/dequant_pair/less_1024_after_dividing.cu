// diagnosis: 1024 is taken off fields 1 and 3, which read 64 + code by then
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t down = f < 2 ? pairs : pairs >> 8;
  if (f % 2 == 0) {
    return __hsub2(as_half2(and_or(down, 0x000F000F, 0x64006400)), __float2half2_rn(1024.0f));
  }
  const half2 read = as_half2(and_or(down, 0x00F000F0, 0x64006400));
  return __hfma2(read, __float2half2_rn(1.0f / 16), __float2half2_rn(-1024.0f));
}
