// diagnosis: 'bits' is used uninitialized
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  uint32_t bits;
  bits |= pairs >> 4 * f & 0x000F000F | 0x64006400;
  return __hsub2(as_half2(bits), __float2half2_rn(1024.0f));
}
