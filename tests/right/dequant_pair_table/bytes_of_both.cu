__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f, which = (codes & 7) | (codes >> 12 & 0x70);
  const uint32_t below = __byte_perm(__byte_perm(0x52339200, 0x00d4ea8d, which),
                                     __byte_perm(0xb6b8b9bc, 0x00adb1b4, which), 0x5140);
  const uint32_t above = __byte_perm(__byte_perm(0x68e02618, 0x00c9800d, which),
                                     __byte_perm(0x3533312d, 0x3c393837, which), 0x5140);
  const uint32_t is_above = (codes >> 3 & 0x00010001) * 0xFFFF;
  return as_half2((below & ~is_above) | (above & is_above));
}
