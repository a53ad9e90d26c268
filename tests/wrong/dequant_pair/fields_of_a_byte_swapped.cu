// diagnosis: the two fields of each byte are swapped
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  if (f % 2) pairs <<= 4;
  const half2 read = as_half2(and_or(f < 2 ? pairs : pairs >> 8, 0x00F000F0, 0x64006400));
  return __hfma2(read, __float2half2_rn(1.0f / 16), __float2half2_rn(-64.0f));
}
