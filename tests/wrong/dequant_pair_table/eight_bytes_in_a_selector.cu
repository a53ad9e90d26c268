// diagnosis: three bits of each code count, as with a mask of 7 or in a selector of __byte_perm
__host__ __device__ constexpr float offset_of(int f) { return 0.0f; }

__device__ half2 dequant_pair(uint32_t pairs, int f) {
  const uint32_t codes = pairs >> 4 * f, selector = (codes & 15) | (codes >> 12 & 0xF0);
  const uint32_t bytes = __byte_perm(0x52339200, 0x00d4ea8d, selector);
  const uint32_t upper = __byte_perm(0xb6b8b9bc, 0x00adb1b4, selector);
  return as_half2(__byte_perm(bytes, upper, 0x5140));
}
