__device__ uint32_t four_codes(uint32_t word, int i) {
  const uint32_t shifted[4] = {word, word >> 2, word >> 4, word >> 6};
  return shifted[i] & ~0xFCFCFCFCu;
}
