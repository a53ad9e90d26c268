// diagnosis: the shifted pairs are not masked, so that other codes come into fraction and exponent
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const half2 read = as_half2(pairs >> 4 * f | 0x64006400);
  return __hsub2(read, __float2half2_rn(1024.0f));
}
