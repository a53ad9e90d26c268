// diagnosis: the shift is f; a field has 4 bits, so it is 4 * f
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const half2 read = as_half2(and_or(pairs >> f, 0x000F000F, 0x64006400));
  return __hsub2(read, __float2half2_rn(1024.0f));
}
