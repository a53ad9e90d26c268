// diagnosis: the fields are counted two by two along the word, 2 f and 2 f + 1
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t byte = pairs >> 8 * f & 0xFF;
  const uint32_t bits = (byte & 0xF) | (byte & 0xF0) << 12;
  return __hsub2(as_half2(bits | 0x64006400), __float2half2_rn(1024.0f));
}
