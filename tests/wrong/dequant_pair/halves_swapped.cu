// diagnosis: the two halves are swapped
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t low = pairs >> 4 * f & 0xF, high = pairs >> (16 + 4 * f) & 0xF;
  const uint32_t bits = 0x64006400 | low << 16 | high;
  return __hsub2(as_half2(bits), __float2half2_rn(1024.0f));
}
