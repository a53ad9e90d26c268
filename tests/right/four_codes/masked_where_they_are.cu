__device__ uint32_t four_codes(uint32_t word, int i) {
  const uint32_t mask = 0x03030303u << (2 * i);
  return (word & mask) >> (2 * i);
}
