// diagnosis: the second code is field f + 1 of the lower half; it is field f of the upper one
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t low = pairs >> 4 * f & 0xF, high = pairs >> 4 * (f + 1) & 0xF;
  return __hsub2(as_half2(0x64006400 | low | high << 16), __float2half2_rn(1024.0f));
}
