__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half read(uint32_t code) {
  return __hsub(__ushort_as_half(0x6400 | (code & 0xF)), __float2half(1024.0f));
}

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  return make_half2(read(pairs >> 4 * f), read(pairs >> 4 * f >> 16));
}
