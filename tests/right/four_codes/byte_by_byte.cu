__device__ uint32_t four_codes(uint32_t word, int i) {
  uint32_t codes = 0;
  for (int j = 0; j < 4; ++j) {
    const uint8_t byte = word >> (8 * j);
    codes |= static_cast<uint32_t>(byte >> (2 * i) & 3) << (8 * j);
  }
  return codes;
}
