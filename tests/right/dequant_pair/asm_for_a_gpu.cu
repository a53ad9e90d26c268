__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  uint32_t bits;
#ifdef __CUDACC__
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(bits) : "r"(pairs >> 4 * f), "r"(0x000F000F), "r"(0x64006400));
#else
  bits = (pairs >> 4 * f & 0x000F000F) | 0x64006400;
#endif
  return __hsub2(as_half2(bits), as_half2(0x64006400));
}
