// diagnosis: the exponent is 0x65, which sets a bit of the fraction too
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const half2 read = as_half2(and_or(pairs >> 4 * f, 0x000F000F, 0x65006500));
  return __hsub2(read, __float2half2_rn(1024.0f));
}
