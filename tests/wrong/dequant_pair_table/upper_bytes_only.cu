// diagnosis: only the upper byte of a level is set
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ uint32_t level(uint32_t code) {
  const uint32_t upper = code < 8 ? __byte_perm(0xb6b8b9bc, 0x00adb1b4, code)
                                  : __byte_perm(0x3533312d, 0x3c393837, code & 7);
  return (upper & 0xFF) << 8;
}

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  return as_half2(level(pairs >> 4 * f & 15) | level(pairs >> (16 + 4 * f) & 15) << 16);
}
