__device__ uint32_t four_codes(uint32_t word, int i) {
  for (int step = 0; step < i; ++step) word /= 4;
  const uint32_t others = word & 0xFCFCFCFC;
  return word - others;
}
