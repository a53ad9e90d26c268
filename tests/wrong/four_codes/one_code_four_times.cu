// diagnosis: all four bytes are code 4 i
__device__ uint32_t four_codes(uint32_t word, int i) {
  const uint32_t code = word >> (2 * i) & 3;
  return code | code << 8 | code << 16 | code << 24;
}
