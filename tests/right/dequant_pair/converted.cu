__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = (pairs >> 4 * f) & 0x000F000F;
  return __halves2half2(__uint2half_rn(codes & 0xFFFF), __int2half_rn(codes >> 16));
}
