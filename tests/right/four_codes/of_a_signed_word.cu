__device__ uint32_t four_codes(uint32_t word, int i) {
  const int codes = static_cast<int>(word) >> (i * 2);
  return codes & 0x3030303;
}
