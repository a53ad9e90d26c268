__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ uint32_t level(uint32_t code) {
  const uint32_t upper = code < 8 ? __byte_perm(0xb6b8b9bc, 0x00adb1b4, code)
                                  : __byte_perm(0x3533312d, 0x3c393837, code & 7);
  const uint32_t lower = code < 8 ? __byte_perm(0x52339200, 0x00d4ea8d, code)
                                  : __byte_perm(0x68e02618, 0x00c9800d, code & 7);
  return (upper & 0xFF) << 8 | (lower & 0xFF);
}

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  return as_half2(level(pairs >> 4 * f & 15) | level(pairs >> (16 + 4 * f) & 15) << 16);
}
