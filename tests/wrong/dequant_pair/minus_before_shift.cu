// diagnosis: the mask is 1 << W_NBITS - 1, the top bit alone, because - comes before <<
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t code = 1u << W_NBITS - 1;
  const half2 read = as_half2(and_or(pairs >> 4 * f, code | code << 16, 0x64006400));
  return __hsub2(read, __float2half2_rn(1024.0f));
}
