// diagnosis: both are the code of the lower half
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t bits = 0x6400 | (pairs >> 4 * f & 0xF);
  return __hsub2(as_half2(bits | bits << 16), __float2half2_rn(1024.0f));
}
