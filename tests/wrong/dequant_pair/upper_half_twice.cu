// diagnosis: both are the code of the upper half
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const half2 read = as_half2(and_or(pairs >> 4 * f, 0x000F000F, 0x64006400));
  const half code = __hsub(__high2half(read), __float2half(1024.0f));
  return __half2half2(code);
}
